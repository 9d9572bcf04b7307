// A scatter matrix: dots of every pair of columns below the diagonal, histograms on it, correlations above. A selected pair is drawn large.
import type { Curve, StudyPlot } from "./data";
import { h } from "./dom";
import { minus } from "./format";
import { StudyPanel, type StudyView } from "./study";
import { color, onThemeChange, seriesColor } from "./theme";

const bins = 16;
/** Of the width of a cell, left free at its edges. */
const air = 0.05;

export class MatrixPanel implements StudyView {
  readonly element: HTMLElement;
  private readonly grid: HTMLElement;
  private readonly large = h("div", { class: "large" });
  private readonly pictures: { canvas: HTMLCanvasElement; column: number; line: number }[] = [];

  constructor(readonly study: StudyPlot) {
    const { curves } = study;
    this.grid = h("div", { class: "matrix", style: `--count: ${curves.length}` });
    curves.forEach((_, line) => {
      this.grid.append(h("span", { class: "line-name", title: curves[line].name }, curves[line].name));
      curves.forEach((_, column) => this.grid.append(this.cell(column, line)));
    });
    this.grid.append(h("span", {}), ...curves.map(({ name }) => h("span", { class: "column-name", title: name }, name)));
    this.element = h("section", { class: "panel study wide" },
      h("header", {}, h("h3", {}, study.title)),
      h("p", { class: "note" }, `${study.note} Choose a pair to see it large.`),
      this.grid,
      this.large,
    );
    new ResizeObserver(() => this.draw()).observe(this.grid);
    onThemeChange(() => this.draw());
  }

  get pointCounts(): Record<string, number> {
    return Object.fromEntries(this.study.curves.map((curve) => [curve.name, curve.y.filter((y) => y !== null).length]));
  }

  /** Dots of two results would hide each other. */
  overlay(): void {}

  private cell(column: number, line: number): HTMLElement {
    const { curves, correlations } = this.study;
    const [x, y] = [curves[column].name, curves[line].name];
    if (column > line) {
      const value = correlations[line * curves.length + column];
      if (value === null) return h("span", { class: "correlation" }, "–");
      return h("span", { class: "correlation", title: `${x} and ${y}`, style: `--size: ${Math.abs(value).toFixed(2)}` }, minus((Math.abs(value) < 0.005 ? 0 : value).toFixed(2)));
    }
    const canvas = h("canvas", {});
    this.pictures.push({ canvas, column, line });
    if (column === line) return h("span", { class: "cell", role: "img", "aria-label": `Histogram of ${x}`, title: x }, canvas);
    return h("button", { type: "button", class: "cell", "aria-label": `${y} over ${x}`, title: `${y} over ${x}`, click: () => this.enlarge(column, line) }, canvas);
  }

  private enlarge(column: number, line: number): void {
    const [x, y] = [this.study.curves[column], this.study.curves[line]];
    const part = (name: string, isFailed: boolean): Curve => {
      const places = x.y.map((_, i) => i).filter((i) => x.y[i] !== null && y.y[i] !== null && (x.marked[i] === true) === isFailed);
      return { name, x: places.map((i) => x.y[i] as number), y: places.map((i) => y.y[i]), order: null, marked: places.map(() => false), low: [], high: [] };
    };
    const failed = part("failed", true);
    const panel = new StudyPanel({
      ...this.study, title: `${y.name} over ${x.name}`, note: "", kind: "points", xLabel: x.name, yLabel: y.name,
      curves: [part("cases", false), ...(failed.x.length > 0 ? [failed] : [])],
    });
    this.large.replaceChildren(panel.element);
    panel.element.scrollIntoView({ block: "nearest" });
  }

  private draw(): void {
    for (const { canvas, column, line } of this.pictures) {
      const size = Math.round(canvas.clientWidth * devicePixelRatio);
      if (size === 0) continue;
      canvas.width = canvas.height = size;
      const ctx = canvas.getContext("2d")!;
      const place = (part: number) => size * (air + (1 - 2 * air) * part);
      if (column === line) drawHistogram(ctx, this.study.curves[line], place);
      else drawDots(ctx, this.study.curves[column], this.study.curves[line], place);
    }
  }
}

/** From 0 to 1 over the values of the column. */
function scaled(curve: Curve): (value: number) => number {
  const known = curve.y.filter((v): v is number => v !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return (value) => (high > low ? (value - low) / (high - low) : 0.5);
}

function drawDots(ctx: CanvasRenderingContext2D, a: Curve, b: Curve, place: (part: number) => number): void {
  const [x, y] = [scaled(a), scaled(b)];
  const radius = Math.max(0.8, Math.min(1.6, ctx.canvas.width / devicePixelRatio / 90)) * devicePixelRatio;
  for (const isFailed of [false, true]) {
    ctx.fillStyle = isFailed ? color("bad") : seriesColor(0);
    ctx.globalAlpha = isFailed ? 0.9 : 0.55;
    a.y.forEach((value, i) => {
      const other = b.y[i];
      if (value === null || other === null || (a.marked[i] === true) !== isFailed) return;
      ctx.beginPath();
      ctx.arc(place(x(value)), place(1 - y(other)), radius, 0, 2 * Math.PI);
      ctx.fill();
    });
  }
}

function drawHistogram(ctx: CanvasRenderingContext2D, curve: Curve, place: (part: number) => number): void {
  const part = scaled(curve);
  const counts = new Array<number>(bins).fill(0);
  for (const value of curve.y) if (value !== null) ++counts[Math.min(bins - 1, Math.floor(part(value) * bins))];
  const most = Math.max(1, ...counts);
  ctx.fillStyle = seriesColor(0);
  ctx.globalAlpha = 0.45;
  counts.forEach((count, i) => {
    const [left, right] = [Math.round(place(i / bins)), Math.round(place((i + 1) / bins))];
    const top = place(1 - count / most);
    ctx.fillRect(left, top, right - left, place(1) - top);
  });
}
