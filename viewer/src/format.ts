// Numbers as people read them.

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export function superscript(n: number): string {
  return String(n).replace(/-/g, "⁻").replace(/\d/g, (d) => superscripts[Number(d)]);
}

/** Up to `digits` significant digits; exponents where the plain form would be long. */
export function significant(value: number | null | undefined, digits = 5): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return minus(String(value));
  if (size >= 1e-3 && size < 10 ** Math.max(digits, 5)) return minus(String(Number(value.toPrecision(digits))));
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return minus(`${Number(mantissa)}e${Number(exponent)}`);
}

/** Fixed width for changing values: a place for the sign and `digits` significant digits. */
export function running(value: number | null | undefined, digits = 6): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 10 ** digits)) return minus(value.toExponential(digits - 2));
  const before = size < 1 ? 1 : Math.floor(Math.log10(size)) + 1;
  return minus(value.toFixed(Math.max(0, digits - before)));
}

export function minus(text: string): string {
  return text.replace(/-/g, "−");
}

/** Tick labels that share their digits. */
export function ticks(values: (number | null)[]): string[] {
  const known = values.filter((v): v is number => v !== null);
  const size = Math.max(...known.map(Math.abs), 0);
  const step = known.length > 1 ? Math.abs(known[1] - known[0]) : size;
  if (size >= 1e5 || (size > 0 && size < 1e-3)) {
    const power = Math.floor(Math.log10(size));
    const places = placesOf(step / 10 ** power);
    return values.map((v) => (v === null ? "" : v === 0 ? "0" : minus(`${(v / 10 ** power).toFixed(places)}e${power}`)));
  }
  const places = placesOf(step);
  return values.map((v) => (v === null ? "" : minus(v.toFixed(places))));
}

/** Labels as an axis from `low` to `high` may have them. */
export function ticksBetween(low: number, high: number): string[] {
  if (!(high > low)) return [];
  const step = 10 ** Math.floor(Math.log10((high - low) / 3));
  return ticks([low, high].map((v) => Math.round(v / step) * step).flatMap((v) => [v, v + step]));
}

/** Decimal places that show every multiple of `step`. */
function placesOf(step: number): number {
  let places = 0;
  while (places < 12 && Math.abs(step * 10 ** places - Math.round(step * 10 ** places)) > 1e-6 * step * 10 ** places) ++places;
  return places;
}

/** Places of the labels of a logarithmic axis: powers of ten, with 2 and 5 times those on short axes. */
export function powerSplits(min: number, max: number): number[] {
  const [from, to] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const decades = Math.log10(max / min);
  const every = Math.max(1, Math.ceil(decades / 7));
  const factors = decades < 1.2 ? [1, 2, 5] : [1];
  const out: number[] = [];
  for (let power = from; power <= to; ++power)
    if (power % every === 0) for (const factor of factors) out.push(Number(`${factor}e${power}`));
  return out.filter((v) => v >= min && v <= max);
}

export function powerTicks(values: (number | null)[]): string[] {
  return values.map((v) => {
    if (v === null) return "";
    const power = Math.floor(Math.log10(v) + 1e-9);
    const factor = Math.round(v / 10 ** power);
    return factor === 1 ? `10${superscript(power)}` : `${factor}·10${superscript(power)}`;
  });
}

export function duration(seconds: unknown): string {
  if (typeof seconds !== "number") return "–";
  if (seconds < 1e-3) return `${significant(seconds * 1e6, 3)} µs`;
  if (seconds < 1) return `${significant(seconds * 1e3, 3)} ms`;
  return `${significant(seconds, 3)} s`;
}
