// Arithmetic of curves: values between points, differences, envelopes, and the level of round-off.
import { lastNotAbove, type Result, type Series } from "./data";

export interface Curve {
  t: ArrayLike<number>;
  y: ArrayLike<number>;
}

/** On the straight line between the points; NaN outside. */
export function valueAt(curve: Curve, t: number): number {
  const { t: times, y } = curve;
  const n = times.length;
  if (n === 0 || t < times[0] || t > times[n - 1]) return NaN;
  const i = lastNotAbove(times, t);
  const j = Math.min(i + 1, n - 1);
  const span = times[j] - times[i];
  return span > 0 ? y[i] + ((t - times[i]) / span) * (y[j] - y[i]) : y[i];
}

/** Second minus first, at the times of both curves within their common range. */
export function difference(first: Curve, second: Curve): { t: Float64Array; y: Float64Array } {
  const begin = Math.max(first.t[0], second.t[0]);
  const end = Math.min(first.t[first.t.length - 1], second.t[second.t.length - 1]);
  const grid = new Set<number>();
  for (const { t } of [first, second]) for (let i = 0; i < t.length; ++i) if (t[i] >= begin && t[i] <= end) grid.add(t[i]);
  const t = Float64Array.from(grid).sort();
  return { t, y: t.map((time) => valueAt(second, time) - valueAt(first, time)) };
}

/** Indices [from, to) of the points in a stretch of time, and one neighbour on each side. */
export function within(t: ArrayLike<number>, low: number, high: number): [number, number] {
  if (t.length === 0) return [0, 0];
  const from = lastNotAbove(t, low);
  return [from, Math.min(t.length, lastNotAbove(t, high) + 2)];
}

export interface Envelope {
  t: number[];
  low: (number | null)[];
  high: (number | null)[];
}

/** Smallest and largest magnitude in buckets of equal time. */
export function magnitudeEnvelope(curve: Curve, from: number, to: number, buckets: number): Envelope {
  const [begin, end] = within(curve.t, from, to);
  const t = Array.from({ length: buckets }, (_, i) => from + ((i + 0.5) / buckets) * (to - from));
  const low = new Array<number | null>(buckets).fill(null);
  const high = new Array<number | null>(buckets).fill(null);
  for (let i = begin; i < end; ++i) {
    const size = Math.abs(curve.y[i]);
    if (!(size > 0) || !Number.isFinite(size)) continue;
    const k = Math.min(buckets - 1, Math.max(0, Math.floor(((curve.t[i] - from) / (to - from)) * buckets)));
    if (low[k] === null || size < low[k]!) low[k] = size;
    if (high[k] === null || size > high[k]!) high[k] = size;
  }
  return { t, low, high };
}

export function largest(series: Series[]): number {
  let size = 0;
  for (const { y: values, range } of series) {
    const y = range ?? values;
    for (let i = 0; i < y.length; ++i) if (Math.abs(y[i]) > size && Number.isFinite(y[i])) size = Math.abs(y[i]);
  }
  return size;
}

/** Relative round-off of a sum of a few numbers. */
const roundOff = 64 * 2 ** -52;

/**
 * Velocities come out of linear equations, accelerations and forces out of differences of velocities over a step: the round-off of
 * those that are zero lies so far below the largest of the whole machine.
 */
const solved: { units: string[]; groups: string[]; part: number }[] = [
  { units: ["m/s", "rad/s"], groups: ["v"], part: 2 ** -39 },
  { units: ["m/s²", "rad/s²"], groups: ["a"], part: 2 ** -33 },
  { units: ["N", "N m", "N or N m"], groups: ["lambda", "reaction"], part: 2 ** -33 },
];

/** Changes below this are round-off; it follows from the size of the quantities that the numbers were computed from. */
export function floorOf(result: Result, panel: string): number {
  const of = (test: (s: Series) => boolean) => largest(result.series.filter(test));
  const first = result.series.find((s) => s.panel === panel);
  if (!first) return 0;
  if (first.group === "residual") {
    // Coordinates without a unit are states, such as pressures, in mechanisms; other models have nothing else.
    const group = first.unit.includes("/s") ? "v" : "q";
    const motion = result.series.filter((s) => s.group === group && !/^R\d\d$/.test(s.name));
    const places = motion.filter((s) => s.unit !== "");
    return roundOff * largest(places.length > 0 ? places : motion);
  }
  if (first.group === "energy" || first.group === "work") {
    const initial = (result.summary.energy as Record<string, unknown> | undefined)?.initial;
    return roundOff * Math.max(typeof initial === "number" ? Math.abs(initial) : 0, of((s) => s.group === "energy" || s.group === "work"));
  }
  const kind = solved.find(({ units, groups }) => units.includes(first.unit) && (groups.includes(first.group) || first.group === "output"));
  const whole = kind ? kind.part * of((s) => kind.groups.includes(s.group) && kind.units.includes(s.unit)) : 0;
  return Math.max(whole, roundOff * of((s) => s.panel === panel));
}
