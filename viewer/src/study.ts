// Convergence and work plots: curves of points on logarithmic axes, with lines of given slope.
import uPlot from "uplot";
import { align, type Aligned } from "./align";
import type { Curve, StudyPlot } from "./data";
import { h } from "./dom";
import { significant, ticks } from "./format";
import { logRange, powerLabels } from "./panels";
import { color, onThemeChange, seriesColor } from "./theme";

const height = 340;
/** Longer curves are lines only. */
const mostMarkers = 60;

type Trace = (ctx: CanvasRenderingContext2D, x: number, y: number, ratio: number) => void;

const polygon = (points: [number, number][]): Trace => (ctx, x, y, ratio) => {
  points.forEach(([dx, dy], i) => (i === 0 ? ctx.moveTo(x + dx * ratio, y + dy * ratio) : ctx.lineTo(x + dx * ratio, y + dy * ratio)));
  ctx.closePath();
};
/** As in the still pictures, so that curves are distinguishable without colours: 9 colours and 5 shapes have no common factor. */
const shapes: { sign: string; trace: Trace }[] = [
  { sign: "●", trace: (ctx, x, y, ratio) => ctx.arc(x, y, 3.2 * ratio, 0, 2 * Math.PI) },
  { sign: "■", trace: polygon([[-2.8, -2.8], [2.8, -2.8], [2.8, 2.8], [-2.8, 2.8]]) },
  { sign: "▲", trace: polygon([[0, -3.8], [3.6, 2.4], [-3.6, 2.4]]) },
  { sign: "◆", trace: polygon([[0, -4], [3.4, 0], [0, 4], [-3.4, 0]]) },
  { sign: "▼", trace: polygon([[0, 3.8], [3.6, -2.4], [-3.6, -2.4]]) },
];

function drawBar(ctx: CanvasRenderingContext2D, from: number, to: number, y: number, tick: number): void {
  ctx.beginPath();
  for (const [x0, y0, x1, y1] of [[from, y, to, y], [from, y - tick, from, y + tick], [to, y - tick, to, y + tick]]) {
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
  }
  ctx.stroke();
}

/** A plot of a study on the page. */
export interface StudyView {
  readonly element: HTMLElement;
  readonly study: StudyPlot;
  readonly pointCounts: Record<string, number>;
  overlay(other: StudyPlot): void;
}

interface Line {
  curve: Curve;
  color: number;
  isOverlay: boolean;
}

function sorted(curve: Curve): Curve {
  const order = curve.x.map((_, i) => i).filter((i) => Number.isFinite(curve.x[i])).sort((a, b) => curve.x[a] - curve.x[b]);
  return {
    ...curve,
    x: order.map((i) => curve.x[i]),
    y: order.map((i) => curve.y[i] ?? null),
    marked: order.map((i) => curve.marked[i] === true),
    low: curve.low.length > 0 ? order.map((i) => curve.low[i]) : [],
    high: curve.high.length > 0 ? order.map((i) => curve.high[i]) : [],
  };
}

export class StudyPanel implements StudyView {
  readonly element: HTMLElement;
  private readonly legend = h("div", { class: "legend" });
  private readonly chart = h("div", { class: "chart", role: "img" });
  private readonly tooltip = h("div", { class: "tooltip", hidden: true });
  private lines: Line[] = [];
  private plot: uPlot | null = null;
  private readonly hidden = new Set<string>();

  constructor(readonly study: StudyPlot) {
    this.element = h("section", { class: "panel study" },
      h("header", {}, h("h3", {}, study.title)),
      study.note ? h("p", { class: "note" }, study.note) : null,
      this.chart,
      study.log && study.slopes.length > 0 ? h("p", { class: "note" }, "Dashed: lines of the slopes written beside them.") : null,
      study.kind === "band" ? h("p", { class: "note" }, wordsOfBand(study.curves)) : null,
      this.legend,
    );
    // The curves of a band belong together.
    this.lines = study.curves.map((curve, i) => ({ curve: sorted(curve), color: study.kind === "band" ? 0 : i, isOverlay: false }));
    this.buildLegend();
    new ResizeObserver(() => this.resize()).observe(this.chart);
    onThemeChange(() => this.rebuild());
  }

  get pointCounts(): Record<string, number> {
    return Object.fromEntries(this.lines.map(({ curve }) => [curve.name, curve.y.filter((y) => y !== null).length]));
  }

  /** Curves of the same name keep their colour. */
  overlay(other: StudyPlot): void {
    this.lines = this.lines.filter((line) => !line.isOverlay);
    for (const curve of other.curves) {
      const twin = this.lines.findIndex((line) => line.curve.name === curve.name);
      const shade = this.study.kind === "band" ? 1 : twin >= 0 ? twin : this.lines.length;
      this.lines.push({ curve: sorted(curve), color: shade, isOverlay: true });
    }
    this.buildLegend();
    this.rebuild();
  }

  /** The plot in words, for screen readers. */
  private describe(): void {
    const { title, xLabel, yLabel } = this.study;
    const ends = (values: (number | null)[]) => {
      const known = values.filter((v): v is number => v !== null);
      return known.length > 0 ? `from ${significant(Math.min(...known), 3)} to ${significant(Math.max(...known), 3)}` : "without values";
    };
    const parts = this.lines.slice(0, 12).map(({ curve, isOverlay }) =>
      `${curve.name || yLabel}${isOverlay ? " of the second result" : ""} ${ends(curve.y)}${curve.order !== null ? `, order ${significant(curve.order, 3)}` : ""}`);
    const all = this.lines.flatMap(({ curve }) => curve.x);
    this.chart.setAttribute("aria-label", `${title}: ${yLabel} over ${xLabel} ${ends(all)}: ${parts.join("; ")}`);
  }

  private buildLegend(): void {
    this.describe();
    const saysLabel = this.study.kind === "histogram" || this.study.kind === "points";
    this.legend.hidden = this.study.kind === "band" || (saysLabel && this.lines.length < 2);
    this.legend.replaceChildren(...this.lines.map((line, i) => {
      const { curve } = line;
      const entry = h("button", {
        type: "button",
        class: line.isOverlay ? "legend-entry overlay" : "legend-entry",
        "aria-pressed": "true",
        title: "Show or hide",
        style: `--line: var(--series-${(line.color % 9) + 1})`,
        click: () => {
          const isShown = entry.getAttribute("aria-pressed") !== "true";
          entry.setAttribute("aria-pressed", String(isShown));
          if (isShown) this.hidden.delete(curve.name);
          else this.hidden.add(curve.name);
          this.plot?.setSeries(i + 1, { show: isShown });
        },
      }, h("span", { class: "swatch" }), this.hasShapes(line) ? h("span", { class: "shape", "aria-hidden": "true" }, shapes[line.color % shapes.length].sign) : null,
        h("span", { class: "name" }, curve.name),
        curve.order === null ? null : h("span", { class: "order" }, `order ${curve.order.toFixed(2)}`));
      return entry;
    }));
  }

  private hasShapes(line: Line): boolean {
    return this.study.kind === "" && line.curve.x.length <= mostMarkers;
  }

  private resize(): void {
    if (!this.plot) this.rebuild();
    else if (this.chart.clientWidth > 0) this.plot.setSize({ width: this.chart.clientWidth, height });
  }

  private rebuild(): void {
    this.plot?.destroy();
    this.plot = null;
    if (this.chart.clientWidth === 0) return;
    const { log } = this.study;
    const data: Aligned = align(this.lines.map(({ curve }) => ({
      x: curve.x,
      y: log ? curve.y.map((y) => (y !== null && y > 0 ? y : null)) : curve.y,
    })));
    // Points without a place on a logarithmic axis.
    if (log) while (data[0].length > 0 && !(data[0][0] > 0)) for (const column of data) column.shift();
    this.plot = new uPlot(this.options(), data as uPlot.AlignedData, this.chart);
    this.plot.over.append(this.tooltip);
    this.plot.over.addEventListener("mousemove", (event) => this.hover(event));
    this.plot.over.addEventListener("mouseleave", () => (this.tooltip.hidden = true));
  }

  private options(): uPlot.Options {
    const { log, xLabel, yLabel } = this.study;
    const isScatter = this.study.kind === "points";
    const scale: uPlot.Scale = log ? { distr: 3, range: logRange } : isScatter ? { range: roomForDots } : {};
    return {
      width: this.chart.clientWidth,
      height,
      legend: { show: false },
      padding: [10, 14, 0, 0],
      scales: { x: { time: false, ...scale }, y: log ? { distr: 3, range: roomForSlopes } : isScatter ? { range: roomForDots } : {} },
      axes: axesOf(xLabel, yLabel, log),
      cursor: { drag: { x: true, y: true, uni: 20 }, points: { show: false } },
      series: [
        {},
        ...this.lines.map((line) => ({
          label: line.curve.name,
          show: !this.hidden.has(line.curve.name),
          stroke: seriesColor(line.color),
          width: this.widthOf(line),
          dash: line.isOverlay ? [6, 4] : undefined,
          fill: this.study.kind === "histogram" ? `color-mix(in srgb, ${seriesColor(line.color)} 25%, transparent)` : undefined,
          points: { show: false },
        })),
      ],
      bands: this.bands(),
      hooks: {
        drawClear: [(plot) => this.drawSlopes(plot, "lines")],
        draw: [(plot) => this.drawPoints(plot), (plot) => this.drawSlopes(plot, "labels")],
      },
    };
  }

  private widthOf({ curve }: Line): number {
    if (this.study.kind === "points") return 0;
    if (this.study.kind !== "band") return 1.5;
    const { curves } = this.study;
    return curve.name === curves[Math.floor(curves.length / 2)].name ? 2.2 : 0.7;
  }

  /** Between the first and the last curve, then between the next ones inwards. */
  private bands(): uPlot.Band[] {
    const count = this.study.kind === "band" ? this.study.curves.length : 0;
    return Array.from({ length: Math.floor(count / 2) }, (_, i) => ({
      series: [count - i, i + 1] as [number, number],
      fill: `color-mix(in srgb, ${seriesColor(0)} 18%, transparent)`,
    }));
  }

  /** Filled where the point counts, hollow where it lies below the floor of the reference; bars between the ends of repeated runs. */
  private drawPoints(plot: uPlot): void {
    const { ctx } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    clip(plot);
    this.lines.forEach((line, i) => {
      const isScatter = this.study.kind === "points";
      if (plot.series[i + 1]?.show === false || (!isScatter && !this.hasShapes(line))) return;
      ctx.strokeStyle = seriesColor(line.color);
      line.curve.x.forEach((x, k) => {
        const y = line.curve.y[k];
        if (y === null || (this.study.log && !(x > 0 && y > 0))) return;
        const [px, py] = [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)];
        ctx.fillStyle = line.curve.marked[k] ? color("surface") : ctx.strokeStyle;
        ctx.lineWidth = ratio;
        if (line.curve.low[k] > 0 && line.curve.high[k] > line.curve.low[k])
          drawBar(ctx, plot.valToPos(line.curve.low[k], "x", true), plot.valToPos(line.curve.high[k], "x", true), py, 3.5 * ratio);
        ctx.lineWidth = 1.5 * ratio;
        ctx.beginPath();
        if (isScatter) ctx.arc(px, py, 1.2 * ratio, 0, 2 * Math.PI);
        else shapes[line.color % shapes.length].trace(ctx, px, py, ratio);
        ctx.fill();
        ctx.stroke();
      });
    });
    ctx.restore();
  }

  /** Lines y = c xᵖ below the curves; without a given point they leave together from above a corner of the data. */
  private drawSlopes(plot: uPlot, part: "lines" | "labels"): void {
    const corner = this.cornerOf(plot);
    if (!this.study.log || !corner) return;
    const { ctx } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    clip(plot);
    ctx.strokeStyle = color("slope");
    ctx.lineWidth = ratio;
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    for (const { order, through } of this.study.slopes) {
      const [x0, y0] = through ?? [order >= 0 ? corner.right : corner.left, corner.top];
      const place = (x: number): [number, number] => [
        plot.valToPos(x, "x", true),
        plot.valToPos(y0 * (x / x0) ** order, "y", true),
      ];
      const end = place(order >= 0 ? plot.scales.x.min! : plot.scales.x.max!);
      if (part === "labels") {
        labelSlope(plot, order, end, place(x0));
      } else {
        ctx.beginPath();
        ctx.moveTo(...place(x0));
        ctx.lineTo(...end);
        ctx.stroke();
      }
    }
    ctx.restore();
  }

  /** Where reference lines start: at the ends of the data, a little above them. */
  private cornerOf(plot: uPlot): { left: number; right: number; top: number } | null {
    const points = this.lines.flatMap(({ curve }) =>
      curve.x.map((x, i) => [x, curve.y[i] ?? 0]).filter(([x, y]) => x > 0 && y > 0),
    );
    if (points.length === 0) return null;
    const xs = points.map(([x]) => x);
    const air = (plot.scales.y.max! / plot.scales.y.min!) ** 0.035;
    return { left: Math.min(...xs), right: Math.max(...xs), top: air * Math.max(...points.map(([, y]) => y)) };
  }

  private hover(event: MouseEvent): void {
    const plot = this.plot!;
    const box = plot.over.getBoundingClientRect();
    const [mx, my] = [event.clientX - box.left, event.clientY - box.top];
    let best: { distance: number; px: number; py: number; text: string } | null = null;
    this.lines.forEach((line, i) => {
      if (plot.series[i + 1]?.show === false) return;
      line.curve.x.forEach((x, k) => {
        const y = line.curve.y[k];
        if (y === null || (this.study.log && !(x > 0 && y > 0))) return;
        const [px, py] = [plot.valToPos(x, "x"), plot.valToPos(y, "y")];
        const distance = Math.hypot(px - mx, py - my);
        if (distance < (best?.distance ?? 40)) {
          const floor = line.curve.marked[k] ? "\nbelow the floor, not used for the order" : "";
          const ends = line.curve.high[k] > line.curve.low[k] ? ` (${significant(line.curve.low[k])} … ${significant(line.curve.high[k])})` : "";
          const text = `${line.curve.name}\n${this.study.xLabel}: ${significant(x)}${ends}\n${this.study.yLabel}: ${significant(y)}${floor}`;
          best = { distance, px, py, text };
        }
      });
    });
    const found = best as { px: number; py: number; text: string } | null;
    this.tooltip.hidden = found === null;
    if (!found) return;
    this.tooltip.textContent = found.text;
    placeTooltip(this.tooltip, found.px, found.py, box.width);
  }
}

export function axesOf(xLabel: string, yLabel: string, log: boolean): uPlot.Axis[] {
  const font = color("font");
  const axis = {
    stroke: color("faint"),
    grid: { stroke: color("grid"), width: 1 },
    ticks: { show: false },
    font: `11px ${font}`,
    labelFont: `12px ${font}`,
    labelSize: 22,
  };
  const labels: Partial<uPlot.Axis> = log ? powerLabels : { values: (_, values) => ticks(values) };
  return [
    { ...axis, label: xLabel, ...labels, size: 28 },
    { ...axis, label: yLabel, ...labels, size: 48 },
  ];
}

export function placeTooltip(tooltip: HTMLElement, px: number, py: number, width: number): void {
  tooltip.style.left = `${px}px`;
  tooltip.style.top = `${py}px`;
  tooltip.classList.toggle("leftwards", px > width / 2);
}

/** "5 % to 95 % and 25 % to 75 % of the cases; 50 % in the middle." */
function wordsOfBand(curves: Curve[]): string {
  const pairs = Array.from({ length: Math.floor(curves.length / 2) }, (_, i) => `${curves[i].name} to ${curves[curves.length - 1 - i].name}`);
  const middle = curves.length % 2 === 1 ? `; line: ${curves[Math.floor(curves.length / 2)].name}` : "";
  return `Shaded: ${pairs.join(", ")}${middle}.`;
}

/** A margin, so that no dot lies on the frame. */
function roomForDots(_: uPlot, min: number | null, max: number | null): [number, number] {
  const [low, high] = [min ?? 0, max ?? 1];
  const air = high > low ? 0.03 * (high - low) : Math.abs(low) || 1;
  return [low - air, high + air];
}

/** Reference lines start above the data. */
function roomForSlopes(plot: uPlot, min: number | null, max: number | null): [number, number] {
  const [low, high] = logRange(plot, min, max);
  return [low, high * (high / low) ** 0.06];
}

function clip(plot: uPlot): void {
  const { left, top, width, height: tall } = plot.bbox;
  plot.ctx.beginPath();
  plot.ctx.rect(left, top, width, tall);
  plot.ctx.clip();
}

/** At the lower end of the line, or where it leaves the picture before that. */
function labelSlope(plot: uPlot, order: number, end: [number, number], start: [number, number]): void {
  const { ctx } = plot;
  const ratio = devicePixelRatio;
  const { left, top, width, height: tall } = plot.bbox;
  const floor = top + tall - 6 * ratio;
  let [x, y] = end;
  if (y > floor && y !== start[1]) {
    x += ((floor - y) * (start[0] - x)) / (start[1] - y);
    y = floor;
  }
  const text = `${order}`.replace("-", "−");
  ctx.font = `600 ${11 * ratio}px ${color("font")}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  const room = ctx.measureText(text).width;
  x = Math.min(left + width - room - 4 * ratio, Math.max(left + 4 * ratio, x));
  y = Math.max(top + 12 * ratio, y - 4 * ratio);
  ctx.setLineDash([]);
  ctx.lineJoin = "round";
  ctx.lineWidth = 4 * ratio;
  ctx.strokeStyle = color("surface");
  ctx.strokeText(text, x, y);
  ctx.fillStyle = color("slope");
  ctx.fillText(text, x, y);
  ctx.strokeStyle = color("slope");
  ctx.lineWidth = ratio;
}
