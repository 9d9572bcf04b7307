// The summary of a run: problem, method, outcome, cost.
import type { Result, Table } from "./data";
import { h } from "./dom";
import { duration, significant } from "./format";

type Fact = [label: string, value: string];

function at(object: unknown, ...path: string[]): unknown {
  let value = object;
  for (const key of path) value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  return value;
}

function plain(value: unknown, digits = 6): string | null {
  if (typeof value === "number") return significant(value, digits);
  if (typeof value === "string") return value === "" ? null : value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return null;
}

function present(label: string, value: string | null, unit = ""): Fact[] {
  return value === null ? [] : [[label, unit ? `${value} ${unit}` : value]];
}

function stepping(summary: unknown): Fact[] {
  const step = plain(at(summary, "step"));
  if (step !== null) return [["step", `${step} s`]];
  const [rtol, atol] = [plain(at(summary, "tolerances", "rtol")), plain(at(summary, "tolerances", "atol"))];
  return rtol === null ? [] : [["tolerances", `rtol ${rtol}, atol ${atol ?? "–"}`]];
}

function energyChange(summary: unknown): Fact[] {
  const [initial, final] = [at(summary, "energy", "initial"), at(summary, "energy", "final")];
  if (typeof initial !== "number" || typeof final !== "number") return [];
  return [["energy", `${significant(initial, 6)} J`], ["energy change", `${significant(final - initial, 3)} J`]];
}

function factGroups(summary: unknown): [string, Fact[]][] {
  const of = (label: string, ...path: string[]) => present(label, plain(at(summary, ...path)));
  return [
    ["Problem", [...of("model", "model"), ...of("group", "group"), ...present("end", plain(at(summary, "t_end")), "s")]],
    ["Method", [
      ...of("method", "method"), ...of("order", "order"), ...of("formulation", "formulation"),
      ...of("correction", "correction"), ...of("starting values", "starting"), ...stepping(summary),
    ]],
    ["Accuracy", [
      ...present("largest |Φ|", plain(at(summary, "constraints", "position_max"), 3)),
      ...present("largest |B v + Φₜ|", plain(at(summary, "constraints", "velocity_max"), 3)),
      ...energyChange(summary),
    ]],
    ["Cost", [
      ...of("steps", "statistics", "steps"), ...of("rejected", "statistics", "rejected_steps"),
      ...of("Newton iterations", "statistics", "newton_iterations"),
      ...of("residuals", "statistics", "residual_evaluations"), ...of("Jacobians", "statistics", "jacobian_evaluations"),
      ...of("factorisations", "statistics", "factorizations"),
      ...(at(summary, "statistics", "solve_seconds") === undefined ? [] : [["time in the loop", duration(at(summary, "statistics", "solve_seconds"))] as Fact]),
    ]],
  ];
}

export function facts(result: Result): HTMLElement {
  const groups = factGroups(result.summary).filter(([, list]) => list.length > 0);
  return h("section", { class: "facts", "aria-label": "Summary", hidden: groups.length === 0 }, ...groups.map(([title, list]) =>
    h("div", {}, h("h3", {}, title), h("dl", {}, ...list.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value)))))));
}

export function status(result: Result): HTMLElement | null {
  const word = plain(at(result.summary, "status"));
  if (word === null) return null;
  const kind = word === "success" || word === "passed" ? "good" : word === "running" ? "open" : "bad";
  return h("span", { class: `status ${kind}` }, word);
}

/** Sentences about the run: why it ended, what was adjusted. */
export function remarks(result: Result): HTMLElement | null {
  const message = plain(at(result.summary, "message"));
  const warnings = at(result.summary, "warnings");
  const lines = [
    ...(message === null ? [] : [message]),
    ...(Array.isArray(warnings) ? warnings.filter((w): w is string => typeof w === "string") : []),
    ...result.notes,
  ];
  return lines.length === 0 ? null : h("ul", { class: "remarks" }, ...lines.map((line) => h("li", {}, line)));
}

/** First, smallest, largest and last value of every series. */
export function extremes(result: Result): Table {
  const columns = ["of", "quantity", "unit", "first", "smallest", "largest", "last"].map((name) => ({ name, unit: "" }));
  const rows = result.series.map((series) => {
    let [low, high] = [Infinity, -Infinity];
    for (const y of series.y) {
      if (y < low) low = y;
      if (y > high) high = y;
    }
    const finite = (v: number | undefined) => (v !== undefined && Number.isFinite(v) ? v : null);
    if (series.range) return [series.of, series.name, series.unit, ...series.range.map(finite)];
    return [
      series.of, series.name, series.unit,
      finite(series.y[0]), finite(low), finite(high), finite(series.y[series.y.length - 1]),
    ];
  });
  return { title: "Values", columns, rows };
}
