// Time series: one panel per quantity, all with the same time axis, zoom and cursor.
import uPlot from "uplot";
import { align, magnitudes, type Aligned } from "./align";
import type { Clock } from "./clock";
import { nearestIndex, type Panel, type Result, type Series } from "./data";
import { h, toggle } from "./dom";
import { powerSplits, powerTicks, running, ticks } from "./format";
import { color, onThemeChange, seriesColor } from "./theme";

const plotHeight = 190;
const sideWidth = 62;
const paperWidth = 420;

/** The stretch of time that all panels show. */
class Window {
  private listeners: (() => void)[] = [];
  range: [number, number];

  constructor(readonly whole: [number, number]) {
    this.range = whole;
  }
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }
  show(range: [number, number]): void {
    if (range[0] === this.range[0] && range[1] === this.range[1]) return;
    this.range = range;
    for (const listener of this.listeners) listener();
  }
  reset(): void {
    this.show(this.whole);
  }
}

interface Line {
  label: string;
  color: number;
  /** 0 is the first result, 1 the one laid over it. */
  result: number;
  series: Series;
  shown: boolean;
}

class TimePanel {
  readonly element: HTMLDetailsElement;
  private readonly legend = h("div", { class: "legend" });
  private readonly chart = h("div", { class: "chart" });
  private readonly marker = h("div", { class: "now" });
  private readonly select = h("select", { "aria-label": "of", change: () => this.panels.select(this.select.value) });
  private readonly unit = h("span", { class: "unit" });
  private readonly log: HTMLButtonElement;
  private lines: Line[] = [];
  private values: HTMLElement[] = [];
  private data: Aligned = [[]];
  private plot: uPlot | null = null;
  private isLog: boolean;
  private isVisible = false;
  private of = "";
  /** The reader's choice of lines, by label. */
  private readonly hidden = new Set<string>();

  constructor(
    readonly panel: Panel,
    private readonly panels: TimePanels,
  ) {
    this.isLog = panel.log;
    this.log = toggle("log", "Magnitudes on a logarithmic axis", this.isLog, (isLog) => {
      this.isLog = isLog;
      this.rebuild();
    });
    this.element = h("details", { class: "panel", open: panel.open, "data-panel": panel.name },
      h("summary", {}, h("h3", {}, panel.name), this.unit),
      h("div", { class: "panel-bar" }, this.select, this.legend, this.log),
      this.chart,
    );
    this.element.addEventListener("toggle", () => this.rebuild());
    this.loadSubjects();
    new ResizeObserver(() => this.resize()).observe(this.chart);
    new IntersectionObserver((entries) => {
      this.isVisible = entries.some((entry) => entry.isIntersecting);
      if (this.isVisible && !this.plot) this.rebuild();
      if (this.isVisible) this.followClock(true);
    }, { rootMargin: "200px" }).observe(this.element);
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
    for (const result of this.panels.results)
      for (const series of result.series) if (series.panel === this.panel.name) names.add(series.of);
    this.select.replaceChildren(...Array.from(names, (name) => h("option", { value: name }, name)));
    this.select.hidden = names.size < 2;
    this.of = names.has(this.of) ? this.of : (names.values().next().value ?? "");
    this.load();
  }

  show(of: string): void {
    if (of === this.of || !this.subjects.includes(of)) return;
    this.of = of;
    this.load();
    this.rebuild();
  }

  private load(): void {
    this.select.value = this.of;
    this.lines = [];
    const labels: string[] = [];
    this.panels.results.forEach((result, i) => {
      for (const series of result.series) {
        if (series.panel !== this.panel.name || series.of !== this.of) continue;
        if (!labels.includes(series.name)) labels.push(series.name);
        const label = series.name;
        this.lines.push({ label, color: labels.indexOf(label), result: i, series, shown: !this.hidden.has(label) });
      }
    });
    this.unit.textContent = this.lines.length > 0 && this.lines[0].series.unit ? `[${this.lines[0].series.unit}]` : "";
    this.buildLegend(labels);
    this.data = [[]];
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
    entry.setAttribute("aria-pressed", String(isShown));
    this.lines.forEach((line, i) => {
      if (line.label !== label) return;
      line.shown = isShown;
      this.plot?.setSeries(i + 1, { show: isShown });
    });
  }

  rebuild(): void {
    this.plot?.destroy();
    this.plot = null;
    if (!this.element.open || !this.isVisible || this.lines.length === 0) return;
    this.data = align(this.lines.map((line) => ({
      x: line.series.t,
      y: this.isLog ? magnitudes(line.series.y) : line.series.y,
    })));
    this.plot = new uPlot(this.options(), this.data as uPlot.AlignedData, this.chart);
    this.plot.over.append(this.marker);
    this.listen(this.plot);
    this.followWindow();
    this.followClock(true);
  }

  private options(): uPlot.Options {
    const grid = { stroke: color("grid"), width: 1 };
    const axis = { stroke: color("faint"), grid, ticks: { show: false }, font: `11px ${color("font")}` };
    // A logarithmic axis needs two values to span.
    const hasRange = this.data.slice(1).some((column) => column.some((v) => typeof v === "number"));
    const distr = this.isLog && hasRange ? 3 : 1;
    return {
      width: this.chart.clientWidth,
      height: plotHeight,
      legend: { show: false },
      padding: [8, 16, 0, 0],
      scales: {
        x: { time: false, range: () => this.panels.window.range },
        y: distr === 3 ? { distr, range: magnitudeRange } : { range: linearRange },
      },
      axes: [
        { ...axis, values: (_, values) => ticks(values), size: 26, space: 60 },
        { ...axis, ...(distr === 3 ? powerLabels : { values: (_, values) => ticks(values) }), size: sideWidth, space: 28 },
      ],
      cursor: {
        sync: { key: "time", scales: ["x", null] },
        drag: { x: true, y: false, setScale: false },
        points: { size: 6 },
        y: false,
      },
      series: [
        {},
        ...this.lines.map((line) => ({
          label: line.label,
          show: line.shown,
          stroke: seriesColor(line.color),
          width: line.result === 0 ? 1.5 : 1.25,
          dash: line.result === 0 ? undefined : [6, 4],
          points: { show: line.series.y.length < 40 && line.result === 0, size: 4 },
        })),
      ],
      hooks: {
        setSelect: [(plot) => this.zoom(plot)],
        setSize: [() => this.placeMarker()],
      },
    };
  }

  private listen(plot: uPlot): void {
    const timeAt = (event: MouseEvent) => plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x");
    let pressedAt = 0;
    plot.over.addEventListener("mousedown", (event) => (pressedAt = event.clientX));
    plot.over.addEventListener("mousemove", (event) => this.panels.clock.hover(timeAt(event)));
    plot.over.addEventListener("mouseleave", () => this.panels.clock.hover(null));
    plot.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - pressedAt) < 3) this.panels.clock.set(timeAt(event));
    });
    plot.over.addEventListener("dblclick", () => this.panels.window.reset());
  }

  private zoom(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    this.panels.window.show([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  private resize(): void {
    if (this.plot && this.chart.clientWidth > 0) this.plot.setSize({ width: this.chart.clientWidth, height: plotHeight });
  }

  followWindow(): void {
    const [min, max] = this.panels.window.range;
    this.plot?.setScale("x", { min, max });
    this.placeMarker();
  }

  private placeMarker(): void {
    if (!this.plot) return;
    const { t } = this.panels.clock;
    const [min, max] = this.panels.window.range;
    this.marker.hidden = t < min || t > max;
    this.marker.style.transform = `translateX(${this.plot.valToPos(t, "x")}px)`;
  }

  followClock(withValues: boolean): void {
    if (!this.plot || !this.isVisible) return;
    this.placeMarker();
    if (!withValues) return;
    const t = this.panels.clock.shown;
    this.orderedLines.forEach((line, i) => {
      const { series } = line;
      this.values[i].textContent = series.t.length > 0 ? running(series.y[nearestIndex(series.t, t)]) : "–";
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
}

/** Labels and grid of a logarithmic axis. */
export const powerLabels: Partial<uPlot.Axis> = {
  splits: (_plot, _axis, min, max) => powerSplits(min, max),
  filter: (_plot, splits) => splits,
  values: (_, values) => powerTicks(values),
};

/** A little air; a constant gets a band. */
function linearRange(_: uPlot, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || !Number.isFinite(min) || !Number.isFinite(max)) return [-1, 1];
  const size = Math.max(Math.abs(min), Math.abs(max));
  const span = max - min;
  const air = span > 1e-12 * size ? 0.06 * span : size > 0 ? 0.1 * size : 1;
  return [min - air, max + air];
}

/** Magnitudes dip towards zero wherever they change sign; what lies further below the largest is not shown. */
const shownRatio = 1e8;
function magnitudeRange(plot: uPlot, min: number | null, max: number | null): [number, number] {
  return logRange(plot, min === null || max === null ? min : Math.max(min, max / shownRatio), max);
}

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
  private panels: TimePanel[] = [];
  private lastValues = 0;

  constructor(
    first: Result,
    readonly clock: Clock,
    private readonly onSelect: (of: string) => void,
  ) {
    this.results = [first];
    this.window = new Window(wholeOf(first));
    for (const panel of first.panels) this.add(panel);
    this.window.onChange(() => this.panels.forEach((panel) => panel.followWindow()));
    clock.onChange(() => this.followClock());
    onThemeChange(() => this.panels.forEach((panel) => panel.rebuild()));
    addEventListener("beforeprint", () => this.panels.forEach((panel) => panel.drawForPaper()));
    addEventListener("afterprint", () => this.panels.forEach((panel) => panel.drawForScreen()));
  }

  private add(panel: Panel): void {
    const timePanel = new TimePanel(panel, this);
    this.panels.push(timePanel);
    this.element.append(timePanel.element);
  }

  overlay(result: Result): void {
    this.results.splice(1, 1, result);
    for (const panel of result.panels) if (!this.panels.some((p) => p.panel.name === panel.name)) this.add(panel);
    for (const panel of this.panels) {
      panel.loadSubjects();
      panel.rebuild();
    }
  }

  /** Shows this body or joint in every panel that has it. */
  select(of: string): void {
    for (const panel of this.panels) panel.show(of);
    this.onSelect(of);
  }

  resetZoom(): void {
    this.window.reset();
  }

  /** Points per curve and panel, as they were handed to uPlot. */
  get pointCounts(): Record<string, Record<string, number>> {
    return Object.fromEntries(this.panels.map((panel) => [panel.panel.name, panel.pointCounts]));
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
