// The data block of a page: what viewer/data.md describes, checked and unpacked.
import { Quaternion } from "three";

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
  /** Number in the file, where the local server can give more points; and of which result. */
  column?: number;
  result?: number;
  /** Its extrema have been loaded. */
  isExact?: boolean;
  /** First, smallest, largest and last value of all points, where the points themselves are not loaded yet. */
  range?: number[];
}

export interface Panel {
  name: string;
  log: boolean;
  open: boolean;
  /** Of plots that the reader made: the curves, what they are drawn over (absent: time), and their text in the address. */
  y?: string[];
  x?: string;
  text?: string;
}

export interface Body {
  name: string;
  shapes: Shape[];
  /** Three numbers per frame. */
  x: Float64Array;
  /** Unit quaternions x, y, z, w per frame, body to inertial. */
  q: Float32Array;
}

/** A point of a body; the body is its number, -1 the ground. */
export interface Place {
  body: number;
  at: Vec3;
}

/** A mark drawn beside the bodies. */
export interface Mark {
  kind: "joint" | "force" | "output";
  name: string;
  type: string;
  places: Place[];
  /** In the frame of the body of the last place. */
  axis: Vec3;
}

/** A flexible rod: sections along nodes, which are bodies. */
export interface Rod {
  name: string;
  /** Numbers of the bodies. */
  bodies: number[];
  /** Of the nodes, along the rod [m]. */
  at: number[];
  /** Where the axis goes through the bodies, body frames. */
  axis: Vec3[];
  section: { kind: "circle"; radius: number } | { kind: "rectangle"; y: number; z: number };
  /** At a corner: the section behind it, seen from the body. */
  turned: Map<number, Quaternion>;
  /** What is known at some places, place by place and frame by frame. */
  quantities: { name: string; at: number[]; values: Float64Array }[];
}

export interface Force {
  joint: string;
  /** "reaction", "spring", "applied" … */
  kind: string;
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
  /** Ends of x over several runs of a point, such as CPU times; empty: there was one. */
  low: number[];
  high: number[];
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
  /** "points": dots alone; "line": no dots; "band": the space between curves is filled, "histogram": that below; "heat": `cells`;
   *  "matrix": every pair of curves, whose y are the columns of one table. */
  kind: string;
  /** Of the colours of "heat". */
  zLabel: string;
  /** Edges, and values line by line, of increasing y. */
  cells: { x: number[]; y: number[]; values: (number | null)[] };
  /** Of "matrix", line by line. */
  correlations: (number | null)[];
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
  /** Some of the points, at a constant stride: extrema are not loaded yet. */
  sampled: boolean;
  series: Series[];
  panels: Panel[];
  frameTimes: Float64Array;
  /** The direction against gravity, of length 1. */
  up: Vec3;
  bodies: Body[];
  forces: Force[];
  marks: Mark[];
  rods: Rod[];
  /** Acceleration of gravity, against `up`; zero for a model without gravity [m/s²]. */
  gravity: number;
  /** What can be changed from the page while the program runs. */
  live: Live | null;
  plots: StudyPlot[];
  tables: Table[];
  overlays: Result[];
}

/** A parameter or input of the model. */
export interface Knob {
  name: string;
  value: number;
  min: number;
  max: number;
  unit: string;
  meaning: string;
}

export interface Live {
  parameters: Knob[];
  inputs: Knob[];
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

/** A list, or the bytes of numbers of single precision, little endian, in base 64. */
function numbers(value: unknown): Float64Array {
  if (typeof value === "string") return Float64Array.from(new Float32Array(bytesOf(value)));
  if (isObject(value)) return onGrid(value);
  return Array.isArray(value) ? Float64Array.from(value, number) : new Float64Array();
}

/** Values low + step · n: the differences of the n, taken `order` times, with the sign in the lowest bit, 7 bits per byte, the lowest first. */
function onGrid({ low, step, order, bytes }: Json): Float64Array {
  const coded = new Uint8Array(bytesOf(text(bytes)));
  let count = 0;
  for (const byte of coded) if (byte < 128) ++count;
  const whole = new Float64Array(count);
  for (let i = 0, at = 0; i < count; ++i) {
    let [rest, place] = [0, 1];
    for (; coded[at] > 127; ++at, place *= 128) rest += (coded[at] - 128) * place;
    rest += coded[at++] * place;
    whole[i] = rest % 2 === 1 ? -(rest + 1) / 2 : rest / 2;
  }
  for (let k = 0; k < number(order); ++k) for (let i = 1; i < count; ++i) whole[i] += whole[i - 1];
  return whole.map((n) => number(low) + number(step) * n);
}

export function bytesOf(text: string): ArrayBuffer {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; ++i) bytes[i] = letters.charCodeAt(i);
  return bytes.buffer;
}

function vec3(value: unknown): Vec3 {
  const [x, y, z] = Array.isArray(value) ? value.map(number) : [];
  return [x || 0, y || 0, z || 0];
}

function quaternions(body: Json, frames: number): Float32Array {
  const name = text(body.name);
  if (typeof body.Q === "string") {
    const whole = new Int16Array(bytesOf(body.Q));
    if (whole.length !== 4 * frames) throw new Error(`Q of body '${name}' has ${whole.length / 4} frames, expected ${frames}`);
    return normalized(Float32Array.from(whole));
  }
  const R = flat(body.R, 9, frames, `R of body '${name}'`);
  const out = new Float32Array(4 * frames);
  for (let i = 0; i < frames; ++i) {
    const [a, b, c, d, e, f, g, h, k] = R.subarray(9 * i, 9 * i + 9);
    // From the largest of the four (Shepperd 1978).
    const sums = [1 + a - e - k, 1 - a + e - k, 1 - a - e + k, 1 + a + e + k];
    const largest = sums.indexOf(Math.max(...sums));
    const rows = [[sums[0], b + d, c + g, h - f], [b + d, sums[1], f + h, c - g], [c + g, f + h, sums[2], d - b], [h - f, c - g, d - b, sums[3]]];
    out.set(rows[largest] ?? [0, 0, 0, 1], 4 * i);
  }
  return normalized(out);
}

/** Normalised, and each with the sign that is nearer to the one before it. */
function normalized(q: Float32Array): Float32Array {
  for (let i = 0; i < q.length; i += 4) {
    const length = Math.hypot(q[i], q[i + 1], q[i + 2], q[i + 3]);
    const dot = i > 0 ? q[i] * q[i - 4] + q[i + 1] * q[i - 3] + q[i + 2] * q[i - 2] + q[i + 3] * q[i - 1] : 1;
    const scale = (dot < 0 ? -1 : 1) / (length || 1);
    for (let k = 0; k < 4; ++k) q[i + k] *= scale;
  }
  return q;
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
  if (typeof value === "string") {
    const all = numbers(value);
    if (all.length !== frames * width) throw new Error(`${what} has ${all.length / width} frames, expected ${frames}`);
    return all;
  }
  const rows = Array.isArray(value) ? value : [];
  if (rows.length > 0 && rows.every(isObject)) {
    const columns = rows.map(numbers);
    if (columns.length !== width || columns.some((column) => column.length !== frames)) throw new Error(`${what} has ${columns[0].length} frames, expected ${frames}`);
    return Float64Array.from({ length: frames * width }, (_, i) => columns[i % width][Math.floor(i / width)]);
  }
  if (rows.length !== frames) throw new Error(`${what} has ${rows.length} frames, expected ${frames}`);
  const out = new Float64Array(frames * width);
  rows.forEach((row, i) => {
    for (let k = 0; k < width; ++k) out[i * width + k] = number((row as unknown[])[k]);
  });
  return out;
}

function readSeries(source: Json, time: Float64Array): Series {
  const t = Array.isArray(source.at) ? pick(time, indices(source.at, time.length)) : time;
  const y = typeof source.constant === "number" ? new Float64Array(t.length).fill(source.constant) : numbers(source.values);
  if (typeof source.base === "number") for (let i = 0; i < y.length; ++i) y[i] += source.base;
  const name = text(source.name);
  const column = typeof source.column === "number" ? source.column : undefined;
  if (source.values === undefined && source.constant === undefined && column !== undefined) {
    const none = new Float64Array();
    const range = Array.isArray(source.range) ? source.range.map(number) : undefined;
    return { group: text(source.group), panel: text(source.panel, text(source.group)), of: text(source.of), name, unit: text(source.unit), t: none, y: none, column, range };
  }
  if (y.length !== t.length) throw new Error(`series '${name}' has ${y.length} values for ${t.length} times`);
  const group = text(source.group);
  return { group, panel: text(source.panel, group), of: text(source.of), name, unit: text(source.unit), t, y, column };
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
  const cells = isObject(source.cells) ? source.cells : {};
  const listed = (list: unknown) => (Array.isArray(list) ? list.map((v) => (typeof v === "number" ? v : null)) : []);
  return {
    title: text(source.title),
    note: text(source.note),
    xLabel: text(source.x_label),
    yLabel: text(source.y_label),
    log: source.log !== false,
    curves: objects(source.curves).map((c) => ({
      name: text(c.name),
      x: Array.from(numbers(c.x)),
      y: listed(c.y),
      order: typeof c.order === "number" ? c.order : null,
      marked: Array.isArray(c.marked) ? c.marked.map((m) => m === true) : [],
      low: Array.from(numbers(c.x_low)),
      high: Array.from(numbers(c.x_high)),
    })),
    slopes: Array.isArray(source.slopes) ? source.slopes.map(readSlope) : [],
    kind: text(source.kind),
    zLabel: text(source.z_label),
    cells: { x: Array.from(numbers(cells.x)), y: Array.from(numbers(cells.y)), values: listed(cells.values) },
    correlations: listed(source.correlations),
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

function readMark(source: Json): Mark {
  const kind = text(source.kind);
  return {
    kind: kind === "force" || kind === "output" ? kind : "joint",
    name: text(source.name),
    type: text(source.type),
    places: objects(source.places).map((p) => ({ body: Number.isInteger(p.body) ? (p.body as number) : -1, at: vec3(p.at) })),
    axis: vec3(source.axis),
  };
}

/** A rod, or none where it names bodies that do not exist. */
function readRod(source: Json, count: number, frames: number): Rod[] {
  const name = text(source.name);
  const bodies = Array.from(numbers(source.bodies));
  const at = Array.from(numbers(source.at));
  const axis = (Array.isArray(source.axis) ? source.axis : []).map(vec3);
  if (bodies.length < 2 || at.length !== bodies.length || axis.length !== bodies.length || bodies.some((k) => !(k >= 0 && k < count))) return [];
  const length = at[at.length - 1] - at[0];
  const given = isObject(source.section) ? source.section : {};
  const [y, z] = Array.isArray(given.rectangle) ? given.rectangle.map(number) : [NaN, NaN];
  const radius = isObject(given.circle) ? number(given.circle.radius) : NaN;
  return [{
    name, bodies, at, axis,
    section: y > 0 && z > 0 ? { kind: "rectangle", y, z } : { kind: "circle", radius: radius > 0 ? radius : length / 200 },
    turned: new Map(objects(source.turned).map((corner) => [number(corner.node), new Quaternion(...quaternions({ name, R: [corner.R] }, 1))])),
    quantities: objects(source.quantities).map((q) => {
      const places = Array.from(numbers(q.at));
      return { name: text(q.name), at: places, values: flat(q.values, places.length, frames, `'${text(q.name)}' along '${name}'`) };
    }),
  }];
}

function readKnobs(source: unknown): Knob[] {
  return objects(source).map((k) => ({ name: text(k.name), value: number(k.value), min: number(k.min), max: number(k.max), unit: text(k.unit), meaning: text(k.meaning) }));
}

/** Throws an error with a message for the reader when this is not the data of a report. */
export function readResult(source: unknown): Result {
  if (!isObject(source)) throw new Error("this page has no data");
  if (source.format !== supportedFormat)
    throw new Error(`the data have format ${String(source.format)}, this page reads format ${supportedFormat}`);
  const time = numbers(source.time);
  const series = objects(source.series).map((s) => readSeries(s, time));
  const frameTimes = Array.isArray(source.frames) ? pick(time, indices(source.frames, time.length)) : time;
  const frames = frameTimes.length;
  const bodies = objects(source.bodies);
  return {
    title: text(source.title, "untitled"),
    command: text(source.command),
    program: text(source.program, "kreisel"),
    summary: isObject(source.summary) ? source.summary : {},
    notes: Array.isArray(source.notes) ? source.notes.map((n) => text(n)) : [],
    time,
    points: typeof source.points === "number" ? source.points : time.length,
    sampled: source.sampled === true,
    series,
    panels: readPanels(source.panels, series),
    frameTimes,
    up: upward(source.up),
    bodies: bodies.map((b) => ({
      name: text(b.name),
      shapes: [b.shape].flat().filter(isObject) as Shape[],
      x: flat(b.x, 3, frames, `x of body '${text(b.name)}'`),
      q: quaternions(b, frames),
    })),
    forces: objects(source.forces).map((f) => ({
      joint: text(f.joint),
      kind: text(f.kind, "reaction"),
      at: flat(f.at, 3, frames, `the point of force '${text(f.joint)}'`),
      vector: flat(f.vector, 3, frames, `force '${text(f.joint)}'`),
    })),
    marks: objects(source.marks).map(readMark),
    rods: objects(source.rods).flatMap((rod) => readRod(rod, bodies.length, frames)),
    gravity: typeof source.gravity === "number" ? source.gravity : 0,
    live: isObject(source.live) ? { parameters: readKnobs(source.live.parameters), inputs: readKnobs(source.live.inputs) } : null,
    plots: objects(source.plots).map(readPlot),
    tables: objects(source.tables).map(readTable),
    overlays: objects(source.overlay).map((other) => {
      const overlay = readResult(other);
      for (const one of overlay.series) one.result = 1;
      return overlay;
    }),
  };
}

/** The data of a page, or of a bare JSON file: for laying a second result over the first. */
export function readResultText(content: string): Result {
  if (!content.trimStart().startsWith("<")) return readResult(JSON.parse(content));
  const page = new DOMParser().parseFromString(content, "text/html");
  const block = page.getElementById("kreisel-data");
  if (!block) throw new Error("the file is not a kreisel report");
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
