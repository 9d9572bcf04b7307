// Puts curves with different grids on the common grid that uPlot needs.

/** null is a gap in the curve, undefined a place where the curve has no point and is drawn through. */
export type Aligned = [number[], ...(number | null | undefined)[][]];

export interface Points {
  x: ArrayLike<number>;
  /** NaN and null are gaps. */
  y: ArrayLike<number | null>;
}

function value(y: number | null): number | null {
  return y === null || !Number.isFinite(y) ? null : y;
}

function column(y: ArrayLike<number | null>): (number | null)[] {
  return Array.from({ length: y.length }, (_, i) => value(y[i]));
}

/** Every curve must have increasing x. Points with equal x share a place. */
export function align(curves: Points[]): Aligned {
  const first = curves[0]?.x ?? [];
  if (curves.every((c) => c.x === first)) return [Array.from(first), ...curves.map((c) => column(c.y))];

  const grid = Array.from(new Set(curves.flatMap((c) => Array.from(c.x)))).sort((a, b) => a - b);
  const place = new Map(grid.map((x, i) => [x, i]));
  const columns = curves.map((c) => {
    const out = new Array<number | null | undefined>(grid.length).fill(undefined);
    for (let i = 0; i < c.x.length; ++i) out[place.get(c.x[i])!] = value(c.y[i]);
    return out;
  });
  return [grid, ...columns];
}

/** |y| for a logarithmic axis; zeros become gaps. */
export function magnitudes(y: ArrayLike<number | null>): (number | null)[] {
  return Array.from({ length: y.length }, (_, i) => {
    const v = value(y[i]);
    return v === null || v === 0 ? null : Math.abs(v);
  });
}
