// A number over two others: cells in colours, with the scale below them.
import uPlot from "uplot";
import type { StudyPlot } from "./data";
import { h } from "./dom";
import { significant } from "./format";
import { axesOf, placeTooltip, type StudyView } from "./study";
import { color, onThemeChange } from "./theme";

const height = 340;

/** Viridis (Smith and van der Walt 2015) at equal distances: equal steps look equal, also without colours. */
const viridis = [[68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140], [40, 174, 128], [94, 201, 98], [173, 220, 48], [253, 231, 37]];

export function heatColor(part: number): string {
  const place = Math.min(1, Math.max(0, part)) * (viridis.length - 1);
  const below = Math.min(Math.floor(place), viridis.length - 2);
  const mixed = viridis[below].map((c, i) => Math.round(c + (place - below) * (viridis[below + 1][i] - c)));
  return `rgb(${mixed.join(" ")})`;
}

export class HeatPanel implements StudyView {
  readonly element: HTMLElement;
  private readonly chart = h("div", { class: "chart" });
  private readonly tooltip = h("div", { class: "tooltip", hidden: true });
  private readonly low: number;
  private readonly high: number;
  private plot: uPlot | null = null;

  constructor(readonly study: StudyPlot) {
    const known = study.cells.values.filter((v): v is number => v !== null);
    [this.low, this.high] = [Math.min(...known), Math.max(...known)];
    const stops = viridis.map((_, i) => heatColor(i / (viridis.length - 1))).join(", ");
    this.element = h("section", { class: "panel study" },
      h("header", {}, h("h3", {}, study.title)),
      study.note ? h("p", { class: "note" }, study.note) : null,
      this.chart,
      h("div", { class: "scale" }, h("span", { class: "name" }, study.zLabel),
        h("span", {}, significant(this.low, 4)), h("i", { style: `background: linear-gradient(90deg, ${stops})` }), h("span", {}, significant(this.high, 4))),
    );
    this.chart.setAttribute("role", "img");
    this.chart.setAttribute("aria-label", `${study.title}: from ${significant(this.low, 4)} to ${significant(this.high, 4)}`);
    new ResizeObserver(() => this.resize()).observe(this.chart);
    onThemeChange(() => this.rebuild());
  }

  get pointCounts(): Record<string, number> {
    return { [this.study.zLabel]: this.study.cells.values.filter((v) => v !== null).length };
  }

  /** Two sets of cells cannot be overlaid. */
  overlay(): void {}

  private resize(): void {
    if (!this.plot) this.rebuild();
    else if (this.chart.clientWidth > 0) this.plot.setSize({ width: this.chart.clientWidth, height });
  }

  private rebuild(): void {
    this.plot?.destroy();
    this.plot = null;
    if (this.chart.clientWidth === 0) return;
    const { cells, xLabel, yLabel } = this.study;
    const range = (edges: number[]): [number, number] => [edges[0], edges[edges.length - 1]];
    this.plot = new uPlot({
      width: this.chart.clientWidth,
      height,
      legend: { show: false },
      padding: [10, 14, 0, 0],
      scales: { x: { time: false, range: range(cells.x) }, y: { range: range(cells.y) } },
      axes: axesOf(xLabel, yLabel, false),
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      series: [{}, { stroke: color("text"), points: { show: false } }],
      hooks: { draw: [(plot) => this.drawCells(plot)] },
    }, [range(cells.x), range(cells.y).map(() => null)] as uPlot.AlignedData, this.chart);
    this.plot.over.append(this.tooltip);
    this.plot.over.addEventListener("mousemove", (event) => this.hover(event));
    this.plot.over.addEventListener("mouseleave", () => (this.tooltip.hidden = true));
  }

  private drawCells(plot: uPlot): void {
    const { x, y, values } = this.study.cells;
    const { ctx } = plot;
    ctx.save();
    values.forEach((value, i) => {
      if (value === null) return;
      const [column, line] = [i % (x.length - 1), Math.floor(i / (x.length - 1))];
      // Whole pixels, so that no gaps appear between cells.
      const [left, right] = [x[column], x[column + 1]].map((v) => Math.round(plot.valToPos(v, "x", true)));
      const [bottom, top] = [y[line], y[line + 1]].map((v) => Math.round(plot.valToPos(v, "y", true)));
      ctx.fillStyle = heatColor(this.high > this.low ? (value - this.low) / (this.high - this.low) : 0.5);
      ctx.fillRect(left, top, right - left, bottom - top);
    });
    ctx.restore();
  }

  private hover(event: MouseEvent): void {
    const plot = this.plot!;
    const { cells, xLabel, yLabel, zLabel } = this.study;
    const box = plot.over.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const place = (edges: number[], value: number) => edges.findIndex((edge, i) => i + 1 < edges.length && value >= edge && value <= edges[i + 1]);
    const [column, line] = [place(cells.x, plot.posToVal(px, "x")), place(cells.y, plot.posToVal(py, "y"))];
    this.tooltip.hidden = column < 0 || line < 0;
    if (this.tooltip.hidden) return;
    const value = cells.values[line * (cells.x.length - 1) + column];
    const span = (edges: number[], i: number) => `${significant(edges[i], 4)} … ${significant(edges[i + 1], 4)}`;
    this.tooltip.textContent = `${zLabel}: ${value === null ? "no case" : significant(value)}\n${xLabel}: ${span(cells.x, column)}\n${yLabel}: ${span(cells.y, line)}`;
    placeTooltip(this.tooltip, px, py, box.width);
  }
}
