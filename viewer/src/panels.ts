// Time series: one panel per quantity, all with the same time axis, zoom and cursor.
import uPlot from "uplot";
import { align, magnitudes, type Aligned } from "./align";
import type { Clock } from "./clock";
import { difference, floorOf, magnitudeEnvelope, valueAt, within, type Curve } from "./curves";
import { nearestIndex, type Panel, type Result, type Series } from "./data";
import { h, toggle } from "./dom";
import { powerSplits, powerTicks, running, significant, ticks, ticksBetween } from "./format";
import { fetchPoints, isServed } from "./remote";
import { cell, fileName, saveBlob, saveText, xml } from "./save";
import { joined, keep, kept, parted } from "./state";
import { color, onThemeChange, seriesColor } from "./theme";

const plotHeight = 205;
const sideWidth = 62;

/** Of labels at 11 px: digits are 7 px wide at most [px]. */
function widest(labels: string[]): number {
  return 7 * Math.max(0, ...labels.map((label) => label.length));
}
const paperWidth = 420;

/** The time interval that all panels show. */
class Window {
  private listeners: (() => void)[] = [];
  range: [number, number];

  constructor(public whole: [number, number]) {
    this.range = whole;
    const [from, to] = (kept("t") ?? "").split("_").map(Number);
    if (from < to && from >= whole[0] && to <= whole[1]) this.range = [from, to];
  }
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }
  show(range: [number, number]): void {
    if (range[0] === this.range[0] && range[1] === this.range[1]) return;
    this.range = range;
    keep("t", range[0] === this.whole[0] && range[1] === this.whole[1] ? null : range.map((t) => Number(t.toPrecision(9))).join("_"));
    for (const listener of this.listeners) listener();
  }
  /** By a factor about a time, by keys. */
  scale(factor: number, about: number): void {
    const [from, to] = this.range;
    const middle = Math.min(to, Math.max(from, about));
    this.show([Math.max(this.whole[0], middle - factor * (middle - from)), Math.min(this.whole[1], middle + factor * (to - middle))]);
  }
  shift(by: number): void {
    const [from, to] = this.range;
    const step = Math.min(this.whole[1] - to, Math.max(this.whole[0] - from, by * (to - from)));
    this.show([from + step, to + step]);
  }
  reset(): void {
    this.show(this.whole);
  }
}

interface Line {
  label: string;
  color: number;
  /** 0 is the first result, 1 the overlaid one, 2 their difference. */
  result: number;
  series: Series;
  /** The drawn points: of the series, or of an interval of it in full detail. */
  curve: Curve;
  shown: boolean;
}

/** Names of a series in lists and in the address of the page. */
export function keyOf(series: Series): string {
  return [series.of, series.name].filter((word) => word !== "").join(" ");
}

/** Points that one fetch of detail brings per curve. */
const detailPoints = 2000;

class TimePanel {
  readonly element: HTMLDetailsElement;
  private readonly legend = h("div", { class: "legend" });
  private readonly chart = h("div", { class: "chart", tabindex: 0, role: "img" });
  private readonly marker = h("div", { class: "now" });
  private readonly select = h("select", { "aria-label": "of", change: () => this.panels.select(this.select.value) });
  private readonly more = h("select", { "aria-label": "show one more in this plot", title: "Show one more in this plot", class: "more", change: () => this.addSubject() });
  private readonly unit = h("span", { class: "unit" });
  private readonly log: HTMLButtonElement;
  private lines: Line[] = [];
  private values: HTMLElement[] = [];
  private data: Aligned = [[]];
  private plot: uPlot | null = null;
  private isLog: boolean;
  private isVisible = false;
  private hasEnvelope = false;
  private ofs: string[] = [];
  private floor = 0;
  private lowest = 0;
  private pointer: number | null = null;
  private waiting = 0;
  private asked = "";
  /** The reader's choice of lines, by label. */
  private readonly hidden: Set<string>;

  constructor(
    readonly panel: Panel,
    private readonly panels: TimePanels,
  ) {
    this.chart.setAttribute("aria-label", panel.name); // until it is drawn
    this.isLog = this.kept("log") !== null ? this.kept("log") === "1" : panel.log;
    this.hidden = new Set(parted(this.kept("hide")));
    this.ofs = parted(this.kept("of"));
    const open = this.kept("open");
    this.log = toggle("log", "Magnitudes on a logarithmic axis", this.isLog, (isLog) => {
      this.isLog = isLog;
      this.keep("log", isLog === panel.log ? null : isLog ? "1" : "0");
      this.rebuild();
    });
    this.log.hidden = this.isPlane;
    const remove = h("button", { type: "button", title: "Remove this plot", "aria-label": "remove this plot", click: () => this.panels.remove(this) }, "×");
    this.element = h("details", { class: "panel", open: open === null ? panel.open : open === "1", "data-panel": panel.name },
      h("summary", {}, h("h3", {}, panel.name), this.unit),
      h("div", { class: "panel-bar" }, this.select, this.more, this.legend, h("span", { class: "panel-tools" }, this.log, this.saveMenu(), panel.y ? remove : null)),
      this.chart,
    );
    this.element.addEventListener("toggle", () => {
      this.keep("open", this.element.open === panel.open ? null : this.element.open ? "1" : "0");
      this.rebuild();
    });
    this.loadSubjects();
    new ResizeObserver(() => this.resize()).observe(this.chart);
    new IntersectionObserver((entries) => {
      this.isVisible = entries.some((entry) => entry.isIntersecting);
      if (this.isVisible && !this.plot) this.rebuild();
      if (this.isVisible) this.followClock(true);
    }, { rootMargin: "200px" }).observe(this.element);
  }

  private kept(key: string): string | null {
    return kept(`${this.panel.name}.${key}`);
  }
  private keep(key: string, value: string | null): void {
    if (this.panel.y) return; // its name lists its curves
    keep(`${this.panel.name}.${key}`, value);
  }

  /** One quantity over another instead of over time. */
  private get isPlane(): boolean {
    return this.panel.x !== undefined;
  }

  private saveMenu(): HTMLElement {
    const item = (label: string, title: string, save: () => void) => h("button", { type: "button", title, click: () => {
      save();
      menu.open = false;
    } }, label);
    const menu = h("details", { class: "menu" },
      h("summary", { title: "Save what this plot shows" }, "save"),
      h("div", {},
        item("CSV", "The numbers of the shown curves in the shown time interval", () => saveText(this.csv(), `${this.fileName}.csv`, "text/csv")),
        item("PNG", "The plot as a picture", () => this.savePng()),
        item("SVG", "The plot as a drawing", () => saveText(this.svg(), `${this.fileName}.svg`, "image/svg+xml"))));
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape") menu.open = false;
    });
    menu.addEventListener("focusout", (event) => {
      if (!menu.contains(event.relatedTarget as Node | null)) menu.open = false;
    });
    return menu;
  }
  private get fileName(): string {
    return fileName(this.panels.results[0].title, this.panel.name, this.ofs.length === 1 ? this.ofs[0] : "");
  }

  get subjects(): string[] {
    return Array.from(this.select.options, (option) => option.value);
  }
  get pointCounts(): Record<string, number> {
    return Object.fromEntries(
      this.lines.map((line) => [line.result === 0 ? line.label : `${line.label} #${line.result + 1}`, line.series.y.length]),
    );
  }

  /** Bodies or joints that this panel has curves of. */
  loadSubjects(): void {
    const names = new Set<string>();
    if (!this.panel.y)
      for (const result of this.panels.results)
        for (const series of result.series) if (series.panel === this.panel.name) names.add(series.of);
    this.select.replaceChildren(...Array.from(names, (name) => h("option", { value: name }, name)));
    this.ofs = this.ofs.filter((of) => names.has(of));
    if (this.ofs.length === 0) this.ofs = [names.values().next().value ?? ""];
    this.select.hidden = this.more.hidden = names.size < 2;
    this.floor = floorOf(this.panels.results[0], this.panel.name);
    this.load();
  }

  private fillMore(): void {
    const option = (value: string, text: string) => h("option", { value }, text);
    this.more.replaceChildren(
      option("", "+"),
      ...(this.ofs.length > 1 ? [option("only", `only ${this.ofs[0]}`)] : []),
      ...(this.subjects.length <= 12 && this.ofs.length < this.subjects.length ? [option("all", "all")] : []),
      ...this.subjects.filter((of) => !this.ofs.includes(of)).map((of) => option(`=${of}`, of)),
    );
    this.more.value = "";
  }

  private addSubject(): void {
    const word = this.more.value;
    if (word === "only") this.ofs = this.ofs.slice(0, 1);
    else if (word === "all") this.ofs = this.subjects;
    else if (word.startsWith("=")) this.ofs = [...this.ofs, word.slice(1)];
    this.keep("of", joined(this.ofs));
    this.load();
    this.rebuild();
  }

  show(of: string): void {
    if ((this.ofs.length === 1 && of === this.ofs[0]) || !this.subjects.includes(of)) return;
    this.ofs = [of];
    this.keep("of", of === this.subjects[0] ? null : joined(this.ofs));
    this.load();
    this.rebuild();
  }

  private isMine(series: Series): boolean {
    if (this.panel.y) return this.panel.y.includes(keyOf(series));
    return series.panel === this.panel.name && this.ofs.includes(series.of);
  }

  load(): void {
    this.select.value = this.ofs[0];
    this.fillMore();
    this.lines = [];
    const labels: string[] = [];
    // Columns of an output repeat its name, which is the title of the panel.
    const short = (series: Series) => (series.name.startsWith(`${this.panel.name}.`) ? series.name.slice(this.panel.name.length + 1) : series.name);
    const labelOf = (series: Series) => (this.panel.y ? keyOf(series) : this.ofs.length > 1 && series.of ? `${series.of} ${series.name}` : short(series));
    this.panels.results.forEach((result, i) => {
      for (const series of result.series) {
        if (!this.isMine(series)) continue;
        const label = labelOf(series);
        if (!labels.includes(label)) labels.push(label);
        this.lines.push({ label, color: labels.indexOf(label), result: i, series, curve: series, shown: !this.hidden.has(label) });
      }
    });
    if (this.panels.showsDifference && this.panels.results.length > 1) this.lines = differencesOf(this.lines);
    const units = new Set(this.lines.map((line) => line.series.unit));
    const y = [...units].filter((unit) => unit !== "").join(", ");
    const x = this.panel.x === undefined ? "" : (this.panels.seriesOf(0, this.panel.x)?.unit ?? "");
    this.unit.textContent = x || y ? `[${this.isPlane ? `${y || "1"} over ${x || "1"}` : y}]` : "";
    if (this.lines.some((line) => line.result === 2)) this.unit.textContent += " second − first";
    this.buildLegend(labels);
    this.data = [[]];
    this.asked = "";
  }

  private buildLegend(labels: string[]): void {
    this.values = [];
    this.legend.replaceChildren(...labels.map((label, i) => {
      const values = this.lines.filter((line) => line.label === label).map(() => h("output", {}));
      this.values.push(...values);
      const entry = h("button", {
        type: "button",
        class: "legend-entry",
        title: `Show or hide ${label}`,
        "aria-pressed": String(!this.hidden.has(label)),
        style: `--line: var(--series-${(i % 9) + 1})`,
        click: () => this.toggleLine(label, entry),
      }, h("span", { class: "swatch" }), h("span", { class: "name" }, label), ...values);
      return entry;
    }));
  }

  private toggleLine(label: string, entry: HTMLElement): void {
    const isShown = this.hidden.has(label);
    if (isShown) this.hidden.delete(label);
    else this.hidden.add(label);
    this.keep("hide", this.hidden.size > 0 ? joined([...this.hidden]) : null);
    entry.setAttribute("aria-pressed", String(isShown));
    for (const line of this.lines) if (line.label === label) line.shown = isShown;
    this.rebuild();
  }

  rebuild(): void {
    this.plot?.destroy();
    this.plot = null;
    if (!this.element.open || !this.isVisible || this.lines.length === 0) return;
    this.wantDetail();
    this.data = this.isPlane ? this.planeData() : this.timeData();
    this.plot = new uPlot(this.options(), this.data as uPlot.AlignedData, this.chart);
    this.plot.over.append(this.marker);
    this.marker.classList.toggle("dot", this.isPlane);
    this.listen(this.plot);
    if (!this.isPlane) this.plot.setScale("x", { min: this.panels.window.range[0], max: this.panels.window.range[1] });
    this.placeMarker();
    this.followClock(true);
  }

  private timeData(): Aligned {
    const [from, to] = this.panels.window.range;
    const width = Math.max(100, this.chart.clientWidth - sideWidth);
    const crowd = (line: Line) => {
      const [begin, end] = within(line.curve.t, from, to);
      return end - begin;
    };
    // Curves that are zero throughout have no magnitudes to draw.
    const hasMagnitude = this.lines.some(({ curve: { y } }) => Array.prototype.some.call(y, (v: number) => v !== 0 && Number.isFinite(v)));
    this.hasEnvelope = this.isLog && hasMagnitude && this.lines.some((line) => crowd(line) > 2 * width);
    if (this.hasEnvelope) {
      const envelopes = this.lines.map((line) => magnitudeEnvelope(line.curve, from, to, Math.round(width / 2)));
      return [envelopes[0].t, ...envelopes.flatMap((e) => [e.high, e.low])];
    }
    return align(this.lines.map((line) => ({
      x: line.curve.t,
      y: this.isLog && hasMagnitude ? magnitudes(line.curve.y) : line.curve.y,
    })));
  }

  /** Differences lie over the first result. */
  private xCurve(line: Line): Curve {
    return this.panels.seriesOf(line.result === 2 ? 0 : line.result, this.panel.x!) ?? { t: [], y: [] };
  }

  /** Facets (x, y) per line at the times of the line. */
  private planeData(): Aligned {
    const [from, to] = this.panels.window.range;
    const facets = this.lines.map((line) => {
      const x = this.xCurve(line);
      const xs: number[] = [];
      const ys: number[] = [];
      const [begin, end] = within(line.curve.t, from, to);
      for (let i = begin; i < end; ++i) {
        const at = valueAt(x, line.curve.t[i]);
        if (!Number.isFinite(at) || !Number.isFinite(line.curve.y[i])) continue;
        xs.push(at);
        ys.push(line.curve.y[i]);
      }
      return [xs, ys];
    });
    return [null, ...facets] as unknown as Aligned;
  }

  private options(): uPlot.Options {
    const grid = { stroke: color("grid"), width: 1 };
    const axis = { stroke: color("faint"), grid, ticks: { show: false }, font: `11px ${color("font")}`, labelFont: `11px ${color("font")}`, labelGap: 0, labelSize: 15 };
    // A logarithmic axis needs two values to span.
    const hasRange = !this.isPlane && this.data.slice(1).some((column) => column.some((v) => typeof v === "number" && v > 0));
    const distr = this.isLog && hasRange ? 3 : 1;
    const stroke = (line: Line) => ({
      label: line.label,
      show: line.shown,
      stroke: seriesColor(line.color),
      width: line.result === 0 ? 1.5 : 1.25,
      dash: line.result === 1 ? [6, 4] : undefined,
      pxAlign: 0,
      ...(this.hasEnvelope ? {} : { paths: drawCurve }),
    });
    const points = (line: Line) => ({ show: !this.hasEnvelope && line.curve.y.length < 40 && line.result === 0, size: 4 });
    const label = this.panel.x === undefined ? "t [s]" : `${this.panel.x}${this.xUnit}`;
    return {
      ...(this.isPlane ? { mode: 2 as const } : {}),
      width: this.chart.clientWidth,
      height: plotHeight,
      pxAlign: 0,
      legend: { show: false },
      padding: [8, 16, 0, 0],
      scales: {
        x: this.isPlane ? { time: false, range: linearRange(0) } : { time: false, range: () => this.panels.window.range },
        y: distr === 3 ? { distr, range: this.magnitudeRange } : { range: linearRange(this.floor, (isFlat) => (this.lowest = isFlat ? this.floor : 0)) },
      },
      axes: [
        { ...axis, values: (_, values) => ticks(values), size: 24, space: (_, __, low, high) => Math.max(60, 12 + widest(ticksBetween(low, high))), label },
        { ...axis, ...(distr === 3 ? powerLabels : { values: (_, values) => ticks(values) }), size: (_, labels) => Math.max(sideWidth, 12 + widest(labels ?? [])), space: 28 },
      ],
      cursor: {
        sync: this.isPlane ? undefined : { key: "time", scales: ["x", null] },
        drag: { x: !this.isPlane, y: false, setScale: false },
        points: { size: 6, show: !this.isPlane && !this.hasEnvelope },
        y: false,
        x: !this.isPlane,
      },
      bands: this.hasEnvelope
        ? this.lines.map((line, i) => ({ series: [2 * i + 1, 2 * i + 2] as [number, number], fill: `${seriesColor(line.color)}2e` }))
        : undefined,
      series: this.isPlane
        ? [{}, ...this.lines.map((line) => ({ ...stroke(line), facets: [{ scale: "x", auto: true }, { scale: "y", auto: true }], paths: drawPath }))] as uPlot.Series[]
        : [{}, ...this.lines.flatMap((line) => (this.hasEnvelope
          ? [{ ...stroke(line), points: points(line) }, { show: line.shown, stroke: "transparent", width: 0, points: { show: false } }]
          : [{ ...stroke(line), points: points(line) }]))],
      hooks: {
        setSelect: [(plot) => this.zoom(plot)],
        setSize: [() => this.placeMarker()],
        drawClear: [(plot) => this.drawFloor(plot)],
        draw: [(plot) => this.drawNote(plot)],
      },
    };
  }

  private get xUnit(): string {
    const unit = this.panel.x === undefined ? "s" : this.panels.seriesOf(0, this.panel.x)?.unit;
    return unit ? ` [${unit}]` : "";
  }

  /** Magnitudes dip towards zero wherever they change sign; what lies below round-off, or far below the largest, is not shown. */
  private magnitudeRange = (plot: uPlot, min: number | null, max: number | null): [number, number] => {
    this.lowest = 0;
    if (min === null || max === null) return logRange(plot, min, max);
    const low = Math.max(min, max / shownRatio);
    if (!(this.floor > 0) || low > this.floor) return logRange(plot, low, max);
    this.lowest = this.floor;
    return [Math.min(this.floor / 20, Math.max(low, max / 100) / 2), Math.max(10 * this.floor, max * 1.3)];
  };

  /** Shades the values below round-off. */
  private drawFloor(plot: uPlot): void {
    if (!(this.lowest > 0) || !this.isLog) return;
    const top = plot.valToPos(this.lowest, "y", true);
    plot.ctx.fillStyle = color("grid");
    plot.ctx.fillRect(plot.bbox.left, top, plot.bbox.width, Math.max(0, plot.bbox.top + plot.bbox.height - top));
  }

  private get note(): string {
    if (!(this.lowest > 0)) return "";
    const unit = this.lines[0]?.series.unit;
    return `round-off: below ${significant(this.lowest, 2)}${unit ? ` ${unit}` : ""}`;
  }
  private drawNote(plot: uPlot): void {
    this.describe(); // the range is known only now
    if (this.note === "") return;
    const ratio = devicePixelRatio;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.font = `${11 * ratio}px ${color("font")}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    const [left, bottom] = [bbox.left + 5 * ratio, bbox.top + bbox.height - 4 * ratio];
    // Noise lies where the words stand.
    ctx.fillStyle = color("surface");
    ctx.globalAlpha = 0.85;
    ctx.fillRect(left - 3 * ratio, bottom - 14 * ratio, ctx.measureText(this.note).width + 6 * ratio, 16 * ratio);
    ctx.globalAlpha = 1;
    ctx.fillStyle = color("faint");
    ctx.fillText(this.note, left, bottom);
    ctx.restore();
  }

  /** The plot in words, for screen readers. */
  private describe(): void {
    const [from, to] = this.panels.window.range;
    const parts = this.lines.filter((line) => line.shown).slice(0, 12).map((line) => {
      const [begin, end] = within(line.curve.t, from, to);
      let [low, high] = [Infinity, -Infinity];
      for (let i = begin; i < end; ++i) {
        if (line.curve.y[i] < low) low = line.curve.y[i];
        if (line.curve.y[i] > high) high = line.curve.y[i];
      }
      if (begin === end) return `${line.label}: no points yet`;
      const whose = line.result === 1 ? " of the second result" : line.result === 2 ? ", difference" : "";
      return `${line.label}${whose} from ${significant(low, 4)} to ${significant(high, 4)} ${line.series.unit}`.trim();
    });
    const over = this.panel.x === undefined ? `time from ${significant(from, 4)} to ${significant(to, 4)} s` : this.panel.x;
    this.chart.setAttribute("aria-label", `${this.panel.name} over ${over}: ${parts.join("; ")}. ${this.note}`.trim());
  }

  private listen(plot: uPlot): void {
    const timeAt = (left: number) => plot.posToVal(left, "x");
    const leftOf = (event: MouseEvent) => event.clientX - plot.over.getBoundingClientRect().left;
    if (this.isPlane) {
      plot.over.addEventListener("click", (event) => {
        const box = plot.over.getBoundingClientRect();
        const t = this.nearestTime(plot, event.clientX - box.left, event.clientY - box.top);
        if (t !== null) this.panels.clock.set(t);
      });
      return;
    }
    let pressedAt = 0;
    plot.over.addEventListener("mousedown", (event) => (pressedAt = event.clientX));
    plot.over.addEventListener("mousemove", (event) => {
      this.pointer = leftOf(event);
      this.panels.clock.hover(timeAt(this.pointer));
    });
    plot.over.addEventListener("mouseleave", () => {
      this.pointer = null;
      this.panels.clock.hover(null);
    });
    plot.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - pressedAt) < 3) this.panels.clock.set(timeAt(leftOf(event)));
    });
    plot.over.addEventListener("dblclick", () => this.panels.window.reset());
  }

  private nearestTime(plot: uPlot, left: number, top: number): number | null {
    let best: number | null = null;
    let least = 30;
    for (const line of this.lines) {
      if (!line.shown) continue;
      const x = this.xCurve(line);
      const [begin, end] = within(line.curve.t, ...this.panels.window.range);
      for (let i = begin; i < end; ++i) {
        const t = line.curve.t[i];
        const apart = Math.hypot(plot.valToPos(valueAt(x, t), "x") - left, plot.valToPos(line.curve.y[i], "y") - top);
        if (apart < least) [least, best] = [apart, t];
      }
    }
    return best;
  }

  private zoom(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    this.panels.window.show([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  private resize(): void {
    if (!this.plot || this.chart.clientWidth === 0) return;
    if (this.hasEnvelope && Math.abs(this.plot.width - this.chart.clientWidth) > 40) return this.rebuild();
    this.plot.setSize({ width: this.chart.clientWidth, height: plotHeight });
  }

  followWindow(): void {
    if (!this.plot) return;
    this.wantDetail();
    if (this.isLog || this.isPlane) this.rebuild();
    const [min, max] = this.panels.window.range;
    if (!this.isPlane) this.plot.setScale("x", { min, max });
    this.placeMarker();
    // The pointer has not moved, but another time is under it now.
    const width = this.plot.over.clientWidth;
    if (this.pointer !== null && !this.isPlane && width > 0) this.panels.clock.hover(min + (this.pointer / width) * (max - min));
  }

  /** Loads all points of thinned curves from the local server in the interval that is shown. */
  private wantDetail(): void {
    const { range, whole } = this.panels.window;
    const wanted = this.lines.filter((line) => line.result < 2 && line.series.column !== undefined && isServed);
    this.fillWhole();
    const key = `${range.join()} ${wanted.map((line) => line.series.column).join()}`;
    const isWhole = range[0] === whole[0] && range[1] === whole[1];
    if (wanted.length === 0 || key === this.asked) return;
    this.asked = key;
    clearTimeout(this.waiting);
    const load = () => {
      for (const line of wanted) {
        const isKnown = line.series.y.length > 0 && !(this.panels.results[line.result].sampled && !line.series.isExact);
        if (isWhole && isKnown) {
          if (line.curve !== line.series) (line.curve = line.series), this.rebuildSoon();
          continue;
        }
        this.panels.arriving.push(fetchPoints(line.series, range[0], range[1], detailPoints).then((curve) => {
          if (key !== this.asked) return;
          if (isWhole && !isKnown) Object.assign(line.series, curve, { isExact: true });
          line.curve = isWhole ? line.series : curve;
          this.rebuildSoon();
        }, () => undefined));
      }
    };
    if (isWhole) load();
    else this.waiting = window.setTimeout(load, 120);
  }
  /** Differences and paths in the plane may need curves that are not loaded yet. */
  private fillWhole(): void {
    const needed = this.panels.results.flatMap((result) => result.series.filter((series) =>
      series.y.length === 0 && series.column !== undefined && !series.isExact &&
      ((this.isPlane && keyOf(series) === this.panel.x) || (this.panels.showsDifference && this.isMine(series)))));
    if (needed.length === 0 || !isServed) return;
    for (const series of needed) series.isExact = true; // requested once
    void Promise.allSettled(needed.map(async (series) => {
      const [from, to] = wholeOf(this.panels.results[series.result ?? 0]);
      Object.assign(series, await fetchPoints(series, from, to, detailPoints));
    })).then(() => {
      this.load();
      this.rebuildSoon();
    });
  }

  private rebuildSoon(): void {
    cancelAnimationFrame(this.due);
    this.due = requestAnimationFrame(() => {
      this.floor = Math.max(this.floor, floorOf(this.panels.results[0], this.panel.name));
      this.rebuild();
    });
  }
  private due = 0;

  private placeMarker(): void {
    if (!this.plot) return;
    const { t } = this.panels.clock;
    const [min, max] = this.panels.window.range;
    this.marker.hidden = t < min || t > max;
    if (!this.isPlane) {
      this.marker.style.transform = `translateX(${this.plot.valToPos(t, "x")}px)`;
      return;
    }
    const line = this.lines.find((l) => l.shown);
    const now = this.panels.clock.shown;
    const [x, y] = line ? [valueAt(this.xCurve(line), now), valueAt(line.curve, now)] : [NaN, NaN];
    this.marker.hidden = !Number.isFinite(x) || !Number.isFinite(y);
    if (!this.marker.hidden) this.marker.style.transform = `translate(${this.plot.valToPos(x, "x")}px, ${this.plot.valToPos(y, "y")}px)`;
  }

  followClock(withValues: boolean): void {
    if (!this.plot || !this.isVisible) return;
    this.placeMarker();
    if (!withValues) return;
    const t = this.panels.clock.shown;
    this.orderedLines.forEach((line, i) => {
      const { curve } = line;
      this.values[i].textContent = curve.t.length > 0 ? running(curve.y[nearestIndex(curve.t, t)]) : "–";
    });
  }

  /** In the order of the legend: by label, then by result. */
  private get orderedLines(): Line[] {
    return [...this.lines].sort((a, b) => a.color - b.color || a.result - b.result);
  }

  /** Everything that is open, seen or not, in a size that fits two columns of a sheet. */
  drawForPaper(): void {
    if (!this.element.open) return;
    const wasVisible = this.isVisible;
    this.isVisible = true;
    if (!this.plot) this.rebuild();
    this.isVisible = wasVisible;
    this.plot?.setSize({ width: paperWidth, height: plotHeight });
  }
  drawForScreen(): void {
    this.resize();
  }

  // -- files to save

  private get shownLines(): Line[] {
    return this.lines.filter((line) => line.shown);
  }
  private titleOf(line: Line): string {
    return `${line.label}${line.result === 1 ? " (second)" : line.result === 2 ? " (difference)" : ""}`;
  }

  /** Every curve at its own points; cells between them are empty. */
  csv(): string {
    const [from, to] = this.panels.window.range;
    const lines = this.shownLines;
    const rows = new Map<number, (number | undefined)[]>();
    const put = (t: number, column: number, y: number) => {
      if (!rows.has(t)) rows.set(t, []);
      rows.get(t)![column] = y;
    };
    const xs = this.isPlane ? 1 : 0;
    lines.forEach((line, k) => {
      for (let i = 0; i < line.curve.t.length; ++i) {
        const t = line.curve.t[i];
        if (t < from || t > to) continue;
        put(t, k + xs, line.curve.y[i]);
        if (this.isPlane) put(t, 0, valueAt(this.xCurve(line), t));
      }
    });
    const head = ["t [s]", ...(this.isPlane ? [`${this.panel.x}${this.xUnit}`] : []), ...lines.map((line) => `${this.titleOf(line)}${line.series.unit ? ` [${line.series.unit}]` : ""}`)];
    const body = [...rows].sort((a, b) => a[0] - b[0]).map(([t, values]) =>
      [t, ...Array.from({ length: head.length - 1 }, (_, i) => values[i] ?? "")].join());
    return [head.map(cell).join(), ...body].join("\n") + "\n";
  }

  private savePng(): void {
    const plot = this.plot;
    if (!plot) return;
    const source = plot.ctx.canvas;
    const ratio = source.width / plot.width;
    const head = Math.round(40 * ratio);
    const canvas = h("canvas", { width: source.width, height: source.height + head });
    const paper = canvas.getContext("2d")!;
    paper.fillStyle = color("surface");
    paper.fillRect(0, 0, canvas.width, canvas.height);
    paper.fillStyle = color("text");
    paper.font = `600 ${13 * ratio}px ${color("font")}`;
    paper.fillText(`${this.panel.name} ${this.unit.textContent ?? ""}`, 10 * ratio, 15 * ratio);
    paper.font = `${12 * ratio}px ${color("font")}`;
    let at = 10 * ratio;
    for (const line of this.shownLines) {
      paper.fillStyle = seriesColor(line.color);
      paper.fillText(this.titleOf(line), at, 33 * ratio);
      at += paper.measureText(`${this.titleOf(line)}   `).width;
    }
    paper.drawImage(source, 0, head);
    canvas.toBlob((blob) => blob && saveBlob(blob, `${this.fileName}.png`));
  }

  svg(): string {
    const plot = this.plot;
    if (!plot) return "";
    const ratio = devicePixelRatio;
    const box = { left: plot.bbox.left / ratio, top: plot.bbox.top / ratio + 40, width: plot.bbox.width / ratio, height: plot.bbox.height / ratio };
    const [xs, ys] = plot.axes.map((axis) => {
      const { _splits, _values } = axis as unknown as { _splits: number[]; _values: string[] };
      return (_splits ?? []).map((split, i) => ({ split, text: String(_values?.[i] ?? "") }));
    });
    const X = (v: number) => box.left + plot.valToPos(v, "x");
    const Y = (v: number) => box.top + plot.valToPos(v, "y");
    const at = (v: number) => v.toFixed(2);
    const [width, height] = [plot.width, plot.height + 40];
    const out = [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
      `<title>${xml(this.panel.name)}</title><desc>${xml(this.chart.getAttribute("aria-label") ?? "")}</desc>`,
      `<rect width="100%" height="100%" fill="${color("surface")}"/>`,
      `<text x="10" y="15" font-size="13" font-weight="600" fill="${color("text")}">${xml(`${this.panel.name} ${this.unit.textContent ?? ""}`)}</text>`,
      `<clipPath id="frame"><rect x="${at(box.left)}" y="${at(box.top)}" width="${at(box.width)}" height="${at(box.height)}"/></clipPath>`,
    ];
    let left = 10;
    for (const line of this.shownLines) {
      out.push(`<text x="${at(left)}" y="33" font-size="12" fill="${seriesColor(line.color)}">${xml(this.titleOf(line))}</text>`);
      left += 7 * (this.titleOf(line).length + 3);
    }
    const rule = `stroke="${color("grid")}"`;
    for (const { split, text } of xs.filter(({ split }) => X(split) >= box.left - 0.5 && X(split) <= box.left + box.width + 0.5)) {
      out.push(`<line x1="${at(X(split))}" x2="${at(X(split))}" y1="${at(box.top)}" y2="${at(box.top + box.height)}" ${rule}/>`);
      out.push(`<text x="${at(X(split))}" y="${at(box.top + box.height + 15)}" text-anchor="middle" fill="${color("faint")}">${xml(text)}</text>`);
    }
    for (const { split, text } of ys.filter(({ split }) => Y(split) >= box.top - 0.5 && Y(split) <= box.top + box.height + 0.5)) {
      out.push(`<line x1="${at(box.left)}" x2="${at(box.left + box.width)}" y1="${at(Y(split))}" y2="${at(Y(split))}" ${rule}/>`);
      out.push(`<text x="${at(box.left - 6)}" y="${at(Y(split) + 4)}" text-anchor="end" fill="${color("faint")}">${xml(text)}</text>`);
    }
    out.push(`<text x="${at(box.left + box.width / 2)}" y="${at(height - 4)}" text-anchor="middle" fill="${color("faint")}">${xml(this.isPlane ? `${this.panel.x}${this.xUnit}` : "t [s]")}</text>`);
    const path = (xs: ArrayLike<number | null>, ys: ArrayLike<number | null | undefined>) => {
      let isDown = false;
      let text = "";
      for (let i = 0; i < xs.length; ++i) {
        const y = ys[i];
        if (y === undefined) continue;
        if (y === null || (this.isLog && !(y > 0))) isDown = false;
        else (text += `${isDown ? "L" : "M"}${at(X(xs[i]!))} ${at(Y(y))}`), (isDown = true);
      }
      return text;
    };
    const columns = this.data as unknown as (number | null | undefined)[][];
    this.lines.forEach((line, k) => {
      if (!line.shown) return;
      const facet = columns[k + 1] as unknown as [number[], number[]];
      const d = this.isPlane ? path(facet[0], facet[1]) : path(columns[0] as number[], columns[this.hasEnvelope ? 2 * k + 1 : k + 1]);
      out.push(`<path d="${d}" clip-path="url(#frame)" fill="none" stroke="${seriesColor(line.color)}" stroke-width="1.4"${line.result === 1 ? ' stroke-dasharray="6 4"' : ""}/>`);
    });
    if (this.note) {
      const [noteLeft, noteBottom] = [box.left + 5, box.top + box.height - 5];
      out.push(`<rect x="${at(noteLeft - 3)}" y="${at(noteBottom - 11)}" width="${at(6.2 * this.note.length + 6)}" height="15" fill="${color("surface")}" fill-opacity="0.85"/>`);
      out.push(`<text x="${at(noteLeft)}" y="${at(noteBottom)}" fill="${color("faint")}">${xml(this.note)}</text>`);
    }
    return `${out.join("\n")}\n</svg>\n`;
  }
}

/** Of lines with the same label, the second minus the first. */
function differencesOf(lines: Line[]): Line[] {
  return lines.filter((line) => line.result === 0).flatMap((first) => {
    const second = lines.find((line) => line.result === 1 && line.label === first.label);
    if (!second) return [];
    const series = { ...first.series, ...difference(first.series, second.series), column: undefined };
    return [{ ...first, result: 2, series, curve: series }];
  });
}

/** Draws every point at its exact place: uPlot gathers many points in columns of whole pixels, which turns steep curves into stairs. */
const drawCurve: uPlot.Series.PathBuilder = (plot, index, from, to) => {
  const xs = plot.data[0];
  const ys = plot.data[index];
  const stroke = new Path2D();
  let isDown = false;
  for (let i = from; i <= to; ++i) {
    const y = ys[i];
    if (y === undefined) continue; // another curve has a point here
    if (y === null) {
      isDown = false;
      continue;
    }
    const [left, top] = [plot.valToPos(xs[i], "x", true), plot.valToPos(y, "y", true)];
    if (isDown) stroke.lineTo(left, top);
    else stroke.moveTo(left, top);
    isDown = true;
  }
  return { stroke, fill: null, clip: null, band: null, flags: 1 };
};

/** A path in the plane, in the order of time. */
const drawPath: uPlot.Series.PathBuilder = (plot, index) => {
  const [xs, ys] = plot.data[index] as unknown as [number[], number[]];
  const series = plot.series[index];
  const { ctx } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  ctx.clip();
  ctx.beginPath();
  for (let i = 0; i < xs.length; ++i) ctx.lineTo(plot.valToPos(xs[i], "x", true), plot.valToPos(ys[i], "y", true));
  ctx.strokeStyle = (series as unknown as { _stroke: string })._stroke ?? (typeof series.stroke === "function" ? String((series.stroke as (u: uPlot, i: number) => unknown)(plot, index)) : String(series.stroke));
  ctx.lineWidth = (series.width ?? 1.5) * devicePixelRatio;
  ctx.setLineDash((series.dash ?? []).map((d) => d * devicePixelRatio));
  ctx.stroke();
  ctx.restore();
  return null;
};

/** Labels and grid of a logarithmic axis. */
export const powerLabels: Partial<uPlot.Axis> = {
  splits: (_plot, _axis, min, max) => powerSplits(min, max),
  filter: (_plot, splits) => splits,
  values: (_, values) => powerTicks(values),
};

/** A small margin; a constant gets a band, and changes below `floor` do not fill it. */
function linearRange(floor: number, tell: (isFlat: boolean) => void = () => undefined) {
  return (_: uPlot, min: number | null, max: number | null): [number, number] => {
    tell(false);
    // Labels at the corners of two axes would touch.
    if (min === null || max === null || !Number.isFinite(min) || !Number.isFinite(max)) return [-1.2, 1.2];
    const size = Math.max(Math.abs(min), Math.abs(max));
    const span = max - min;
    if (span > 0 && span < floor) {
      tell(true);
      const middle = (min + max) / 2;
      const band = Math.max(2 * floor, Math.abs(middle) > floor ? 0.1 * Math.abs(middle) : 0);
      return [middle - band, middle + band];
    }
    const air = span > 1e-12 * size ? 0.06 * span : size > 0 ? 0.1 * size : 1.2;
    return [min - air, max + air];
  };
}

/** Values further below the largest magnitude are not shown. */
const shownRatio = 1e8;

/** At least one decade, so that there are labels. */
export function logRange(_: uPlot, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || !(min > 0)) return [0.1, 1];
  const air = Math.max(1.3, (max / min) ** 0.04);
  if (max / min >= 10) return [min / air, max * air];
  const middle = Math.sqrt(min * max);
  return [middle / 3.6, middle * 3.6];
}

export class TimePanels {
  readonly element = h("div", { class: "panels" });
  readonly window: Window;
  readonly results: Result[];
  showsDifference = kept("difference") === "1";
  /** Points that were requested and are not all here. */
  arriving: Promise<void>[] = [];
  private panels: TimePanel[] = [];
  private lastValues = 0;

  constructor(
    first: Result,
    readonly clock: Clock,
    private readonly onSelect: (of: string) => void,
  ) {
    this.results = [first];
    this.window = new Window(wholeOf(first));
    for (const own of parted(kept("plots"))) this.addOwn(own);
    for (const panel of first.panels) this.add(panel);
    this.window.onChange(() => this.panels.forEach((panel) => panel.followWindow()));
    clock.onChange(() => this.followClock());
    onThemeChange(() => this.panels.forEach((panel) => panel.rebuild()));
    addEventListener("beforeprint", () => this.panels.forEach((panel) => panel.drawForPaper()));
    addEventListener("afterprint", () => this.panels.forEach((panel) => panel.drawForScreen()));
  }

  private add(panel: Panel, isFirst = false): void {
    const timePanel = new TimePanel(panel, this);
    if (isFirst) this.panels.unshift(timePanel);
    else this.panels.push(timePanel);
    if (isFirst) this.element.prepend(timePanel.element);
    else this.element.append(timePanel.element);
  }

  // -- plots that the reader makes: "y, y2 over x"

  seriesOf(result: number, key: string): Series | undefined {
    return this.results[result]?.series.find((series) => keyOf(series) === key);
  }
  /** Keys of all series, with their units. */
  get choices(): { key: string; unit: string; panel: string }[] {
    const seen = new Set<string>();
    return this.results[0].series.flatMap((series) => {
      const key = keyOf(series);
      return seen.has(key) ? [] : (seen.add(key), [{ key, unit: series.unit, panel: series.panel }]);
    });
  }
  addPlot(x: string | null, y: string[]): void {
    const text = JSON.stringify([x, ...y]);
    this.addOwn(text, true);
    keep("plots", joined([text, ...parted(kept("plots")).filter((other) => other !== text)]));
  }
  private addOwn(text: string, isFirst = false): void {
    let words: unknown;
    try {
      words = JSON.parse(text);
    } catch {
      return;
    }
    if (!Array.isArray(words)) return;
    const [x, ...y] = words.map((word) => (typeof word === "string" ? word : null));
    const known = y.filter((key): key is string => key !== null && this.seriesOf(0, key) !== undefined);
    if (known.length === 0 || (x !== null && this.seriesOf(0, x) === undefined)) return;
    const name = `${known.join(", ")}${x === null ? "" : ` over ${x}`}`;
    this.panels.find((panel) => panel.panel.name === name && panel.panel.y)?.element.remove();
    this.panels = this.panels.filter((panel) => panel.panel.name !== name || !panel.panel.y);
    this.add({ name, log: false, open: true, y: known, x: x ?? undefined, text }, isFirst);
  }
  remove(panel: TimePanel): void {
    panel.element.remove();
    this.panels = this.panels.filter((other) => other !== panel);
    const left = parted(kept("plots")).filter((text) => text !== panel.panel.text);
    keep("plots", left.length > 0 ? joined(left) : null);
  }

  overlay(result: Result): void {
    this.results.splice(1, 1, result);
    for (const panel of result.panels) if (!this.panels.some((p) => p.panel.name === panel.name)) this.add(panel);
    this.reload();
  }
  setDifference(shows: boolean): void {
    this.showsDifference = shows;
    keep("difference", shows ? "1" : null);
    this.reload();
  }
  private reload(): void {
    for (const panel of this.panels) {
      panel.loadSubjects();
      panel.rebuild();
    }
  }
  /** The same run with more points, or restarted. */
  replace(result: Result): void {
    const wasWhole = this.window.range[0] === this.window.whole[0] && this.window.range[1] === this.window.whole[1];
    this.results[0] = result;
    for (const panel of result.panels) if (!this.panels.some((p) => p.panel.name === panel.name)) this.add(panel);
    this.window.whole = wholeOf(result);
    if (wasWhole) this.window.range = this.window.whole;
    this.reload();
  }

  /** Shows this body or joint in every panel that has it. */
  select(of: string): void {
    for (const panel of this.panels) panel.show(of);
    this.onSelect(of);
  }

  resetZoom(): void {
    this.window.reset();
  }

  /** When the points that have been requested are here. */
  async arrived(): Promise<void> {
    const all = this.arriving;
    this.arriving = [];
    await Promise.all(all);
  }

  /** Points per curve and panel, as passed to uPlot. */
  get pointCounts(): Record<string, Record<string, number>> {
    return Object.fromEntries(this.panels.map((panel) => [panel.panel.name, panel.pointCounts]));
  }
  panelNamed(name: string): TimePanel | undefined {
    return this.panels.find((panel) => panel.panel.name === name);
  }

  private followClock(): void {
    const at = performance.now();
    const withValues = !this.clock.playing || at - this.lastValues > 80;
    if (withValues) this.lastValues = at;
    for (const panel of this.panels) panel.followClock(withValues);
  }
}

function wholeOf(result: Result): [number, number] {
  const { time } = result;
  const begin = time[0] ?? 0;
  const end = time[time.length - 1] ?? 1;
  return end > begin ? [begin, end] : [begin - 0.5, begin + 0.5];
}
