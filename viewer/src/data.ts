// The data block of a page: what viewer/data.md describes, checked and unpacked.

export type Vec3 = [number, number, number];

/** One shape by its name: {"cylinder": {...}}; see viewer/data.md. */
export type Shape = Record<string, Record<string, unknown>>;

export interface Series {
  group: string;
  panel: string;
  /** Body or joint; empty when the quantity belongs to the whole system. */
  of: string;
  name: string;
  unit: string;
  t: Float64Array;
  /** NaN where there is no value. */
  y: Float64Array;
}

export interface Panel {
  name: string;
  log: boolean;
  open: boolean;
}

export interface Body {
  name: string;
  shapes: Shape[];
  /** Three numbers per frame. */
  x: Float64Array;
  /** Nine numbers per frame, row by row, body to inertial. */
  R: Float64Array;
}

export interface Force {
  joint: string;
  /** Three numbers per frame each, inertial. */
  at: Float64Array;
  vector: Float64Array;
}

export interface Curve {
  name: string;
  x: number[];
  y: (number | null)[];
  order: number | null;
  /** True where a point lies below the floor of the reference and does not count. */
  marked: boolean[];
}

export interface Slope {
  order: number;
  /** The line goes through this point; null: through a corner of the data. */
  through: [number, number] | null;
}

export interface StudyPlot {
  title: string;
  note: string;
  xLabel: string;
  yLabel: string;
  log: boolean;
  curves: Curve[];
  slopes: Slope[];
  /** "points": dots alone; "line": no dots; "band": the space between curves is filled. */
  kind: string;
}

export type Cell = string | number | boolean | null;

export interface Table {
  title: string;
  columns: { name: string; unit: string }[];
  rows: Cell[][];
}

export interface Result {
  title: string;
  command: string;
  program: string;
  summary: Record<string, unknown>;
  notes: string[];
  time: Float64Array;
  /** Points of the result; `time` may hold fewer, chosen for display. */
  points: number;
  series: Series[];
  panels: Panel[];
  frameTimes: Float64Array;
  /** The direction against gravity, of length 1. */
  up: Vec3;
  bodies: Body[];
  forces: Force[];
  plots: StudyPlot[];
  tables: Table[];
  overlays: Result[];
}

export const supportedFormat = 1;

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A direction of length 1; the z axis where none is given. */
function upward(value: unknown): Vec3 {
  const [x, y, z] = Array.isArray(value) ? value.map(Number) : [];
  const length = Math.hypot(x, y, z);
  return length > 0 && Number.isFinite(length) ? [x / length, y / length, z / length] : [0, 0, 1];
}

function text(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

function number(value: unknown): number {
  return typeof value === "number" ? value : NaN;
}

function numbers(value: unknown): Float64Array {
  return Array.isArray(value) ? Float64Array.from(value, number) : new Float64Array();
}

/** Indices written as increments: [3, 2, 2] means 3, 5, 7. */
function indices(value: unknown, limit: number): Int32Array {
  const out = Int32Array.from(numbers(value));
  for (let i = 1; i < out.length; ++i) out[i] += out[i - 1];
  if (out.some((index) => index < 0 || index >= limit)) throw new Error("an index points outside the time grid");
  return out;
}

function pick(values: Float64Array, at: Int32Array): Float64Array {
  return Float64Array.from(at, (index) => values[index]);
}

/** `width` numbers per frame in one array. */
function flat(value: unknown, width: number, frames: number, what: string): Float64Array {
  const rows = Array.isArray(value) ? value : [];
  if (rows.length !== frames) throw new Error(`${what} has ${rows.length} frames, expected ${frames}`);
  const out = new Float64Array(frames * width);
  rows.forEach((row, i) => {
    for (let k = 0; k < width; ++k) out[i * width + k] = number((row as unknown[])[k]);
  });
  return out;
}

function readSeries(source: Json, time: Float64Array): Series {
  const t = Array.isArray(source.at) ? pick(time, indices(source.at, time.length)) : time;
  const y = numbers(source.values);
  const name = text(source.name);
  if (y.length !== t.length) throw new Error(`series '${name}' has ${y.length} values for ${t.length} times`);
  const group = text(source.group);
  return { group, panel: text(source.panel, group), of: text(source.of), name, unit: text(source.unit), t, y };
}

function readPanels(source: unknown, series: Series[]): Panel[] {
  const panels = objects(source).map((p) => ({ name: text(p.name), log: p.log === true, open: p.open !== false }));
  for (const { panel } of series) if (!panels.some((p) => p.name === panel)) panels.push({ name: panel, log: false, open: true });
  return panels.filter((p) => series.some((s) => s.panel === p.name));
}

function readSlope(source: unknown): Slope {
  if (!isObject(source)) return { order: number(source), through: null };
  return { order: number(source.order), through: [number(source.x), number(source.y)] };
}

function readPlot(source: Json): StudyPlot {
  return {
    title: text(source.title),
    note: text(source.note),
    xLabel: text(source.x_label),
    yLabel: text(source.y_label),
    log: source.log !== false,
    curves: objects(source.curves).map((c) => ({
      name: text(c.name),
      x: Array.from(numbers(c.x)),
      y: Array.isArray(c.y) ? c.y.map((v) => (typeof v === "number" ? v : null)) : [],
      order: typeof c.order === "number" ? c.order : null,
      marked: Array.isArray(c.marked) ? c.marked.map((m) => m === true) : [],
    })),
    slopes: Array.isArray(source.slopes) ? source.slopes.map(readSlope) : [],
    kind: text(source.kind),
  };
}

function readCell(value: unknown): Cell {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}

function readTable(source: Json): Table {
  const columns = (Array.isArray(source.columns) ? source.columns : []).map((c) =>
    isObject(c) ? { name: text(c.name), unit: text(c.unit) } : { name: text(c), unit: "" },
  );
  const rows = (Array.isArray(source.rows) ? source.rows : []).map((row) =>
    columns.map((_, i) => readCell(Array.isArray(row) ? row[i] : null)),
  );
  return { title: text(source.title, "Table"), columns, rows };
}

/** Throws with a sentence for the reader when this is no data of a report. */
export function readResult(source: unknown): Result {
  if (!isObject(source)) throw new Error("this page has no data");
  if (source.format !== supportedFormat)
    throw new Error(`the data have format ${String(source.format)}, this page reads format ${supportedFormat}`);
  const time = numbers(source.time);
  const series = objects(source.series).map((s) => readSeries(s, time));
  const frameTimes = Array.isArray(source.frames) ? pick(time, indices(source.frames, time.length)) : time;
  const frames = frameTimes.length;
  return {
    title: text(source.title, "untitled"),
    command: text(source.command),
    program: text(source.program, "kreisel"),
    summary: isObject(source.summary) ? source.summary : {},
    notes: Array.isArray(source.notes) ? source.notes.map((n) => text(n)) : [],
    time,
    points: typeof source.points === "number" ? source.points : time.length,
    series,
    panels: readPanels(source.panels, series),
    frameTimes,
    up: upward(source.up),
    bodies: objects(source.bodies).map((b) => ({
      name: text(b.name),
      shapes: [b.shape].flat().filter(isObject) as Shape[],
      x: flat(b.x, 3, frames, `x of body '${text(b.name)}'`),
      R: flat(b.R, 9, frames, `R of body '${text(b.name)}'`),
    })),
    forces: objects(source.forces).map((f) => ({
      joint: text(f.joint),
      at: flat(f.at, 3, frames, `the point of force '${text(f.joint)}'`),
      vector: flat(f.vector, 3, frames, `force '${text(f.joint)}'`),
    })),
    plots: objects(source.plots).map(readPlot),
    tables: objects(source.tables).map(readTable),
    overlays: objects(source.overlay).map(readResult),
  };
}

/** The data of a page, or of a bare JSON file: for laying a second result over the first. */
export function readResultText(content: string): Result {
  if (!content.trimStart().startsWith("<")) return readResult(JSON.parse(content));
  const page = new DOMParser().parseFromString(content, "text/html");
  const block = page.getElementById("kreisel-data");
  if (!block) throw new Error("the file is no report of kreisel");
  return readResult(JSON.parse(block.textContent ?? "null"));
}

/** Index of the last entry of an increasing array that is not above `value`; 0 when all are. */
export function lastNotAbove(values: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (values[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Index of the entry of an increasing array next to `value`. */
export function nearestIndex(values: ArrayLike<number>, value: number): number {
  const i = lastNotAbove(values, value);
  return i + 1 < values.length && values[i + 1] - value < value - values[i] ? i + 1 : i;
}
