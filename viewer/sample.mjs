// Pages with invented data, for work on the viewer itself and for its tests:
//
//   node sample.mjs top|study FILE.html [--title T]
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const emptyBlock = '<script type="application/json" id="kreisel-data">null</script>';

export function pageWith(data, page = readFileSync(join(folder, "dist/viewer.html"), "utf8")) {
  const block = emptyBlock.replace("null", () => JSON.stringify(data).replace(/</g, "\\u003c"));
  return page.replace(emptyBlock, () => block);
}

const round = (value) => Number(value.toPrecision(7));
const multiply = (A, B) => Array.from({ length: 9 }, (_, k) => [0, 1, 2].reduce((s, i) => s + A[3 * Math.floor(k / 3) + i] * B[3 * i + (k % 3)], 0));
const aboutY = (a) => [Math.cos(a), 0, Math.sin(a), 0, 1, 0, -Math.sin(a), 0, Math.cos(a)];
const aboutX = (a) => [1, 0, 0, 0, Math.cos(a), -Math.sin(a), 0, Math.sin(a), Math.cos(a)];
const aboutZ = (a) => [Math.cos(a), -Math.sin(a), 0, Math.sin(a), Math.cos(a), 0, 0, 0, 1];

/** A top whose axis precesses and nods; not the solution of any equation. */
export function top({ steps = 1000, end = 2, title = "heavy-top", phase = 0 } = {}) {
  const time = Array.from({ length: steps + 1 }, (_, i) => round((i * end) / steps));
  const x = [];
  const R = [];
  const force = [];
  for (const t of time) {
    const rotation = multiply(multiply(aboutZ(2.1 * t + phase), aboutX(0.25 + 0.06 * Math.sin(23 * t))), aboutY(60 * t));
    R.push(rotation.map(round));
    x.push([1, 4, 7].map((i) => round(rotation[i])));
    force.push([round(-30 * Math.cos(2.1 * t)), round(-30 * Math.sin(2.1 * t)), round(147 + 20 * Math.sin(23 * t))]);
  }
  const column = (rows, i) => rows.map((row) => row[i]);
  const series = [
    ...["x", "y", "z"].map((name, i) => ({ group: "q", panel: "Position", of: "top", name, unit: "m", values: column(x, i) })),
    ...[0, 1, 2].map((i) => ({ group: "v", panel: "Angular velocity", of: "top", name: `v${i + 4}`, unit: "rad/s", values: time.map((t) => round([2 * Math.sin(23 * t), 60, -2 * Math.cos(23 * t)][i])) })),
    ...[0, 1, 2].map((i) => ({ group: "lambda", panel: "Constraint forces", of: "tip", name: `lambda${i + 1}`, unit: "N", values: column(force, i) })),
    ...[1, 2, 3].map((i) => ({ group: "residual", panel: "Position constraints", of: "tip", name: `Phi${i}`, unit: "m", values: time.map((t) => round(1e-12 * Math.sin(50 * i * t))) })),
    { group: "energy", panel: "Energy change", name: "E - E(0)", unit: "J", values: time.map((t) => round(1e-7 * t * Math.sin(9 * t))) },
    { group: "step", panel: "Step size", name: "h", unit: "s", values: time.map((t) => round(1e-3 * (1 + 0.5 * Math.sin(4 * t)))) },
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((k) => ({ group: "q", panel: "Rotation matrix", of: "top", name: `R${Math.ceil(k / 3)}${((k - 1) % 3) + 1}`, unit: "1", values: column(R, k - 1) })),
  ];
  return {
    format: 1,
    title,
    command: "kreisel run heavy-top --step 0.002 --out results/heavy-top",
    program: "kreisel 0.1.0",
    summary: {
      model: title, group: "r3xso3", method: "bliedf", order: 4, formulation: "stabilized-index2", step: end / steps, t_end: end,
      status: "success", message: "", correction: "magnus", starting: "corrected",
      statistics: { steps, rejected_steps: 0, newton_iterations: 2 * steps, residual_evaluations: 3 * steps, jacobian_evaluations: 12, factorizations: 12, solve_seconds: 0.0123 },
      constraints: { position_max: 1.2e-12, velocity_max: 3.4e-11 }, energy: { initial: 5273.4375, final: 5273.4374999 },
    },
    time,
    series,
    panels: [{ name: "Position" }, { name: "Angular velocity" }, { name: "Constraint forces" }, { name: "Position constraints", log: true }, { name: "Energy change" }, { name: "Step size" }, { name: "Rotation matrix", open: false }],
    bodies: [{ name: "top", shape: { top: { tip: [0, -1, 0], radius: 0.45 } }, x, R }],
    forces: [{ joint: "tip", at: time.map(() => [0, 0, 0]), vector: force }],
  };
}

export function study() {
  const h = Array.from({ length: 8 }, (_, i) => 0.01 / 2 ** i);
  const errors = (k, c) => h.map((step) => round(Math.max(c * (step * 90) ** k, 3e-12 * (1 + step))));
  const curves = (what) => [1, 2, 3, 4, 5, 6].map((k) => {
    const y = errors(k, what === "lambda" ? 30 : 1);
    return { name: `bliedf ${k}`, x: h, y, order: k - 0.01, marked: y.map((e) => e < 1e-11) };
  });
  const rows = h.flatMap((step, i) => [1, 2, 3, 4, 5, 6].map((k) => [`bliedf ${k}`, step, errors(k, 1)[i], errors(k, 30)[i], k - 0.01, Math.round(2 / step), i < 7]));
  return {
    format: 1,
    title: "wielocharnold2019-fig-1",
    command: "kreisel reproduce wielocharnold2019-fig-1",
    program: "kreisel 0.1.0",
    summary: { status: "passed" },
    plots: [
      { title: "Error of q, maximum over time", x_label: "step h [s]", y_label: "error of q", log: true, curves: curves("q"), slopes: [1, 2, 3, 4, 5, 6] },
      { title: "Error of λ", x_label: "step h [s]", y_label: "error of λ", log: true, curves: curves("lambda"), slopes: [1, 2, 3, 4, 5, 6] },
      { title: "Work", x_label: "residual evaluations", y_label: "error of q", log: true, curves: curves("q").map((c) => ({ ...c, x: h.map((step) => Math.round(6 / step)) })), slopes: [-2, -4] },
    ],
    tables: [{ title: "Runs", columns: ["method", { name: "step", unit: "s" }, "error of q", "error of λ", "order", "steps", "used"], rows }],
  };
}

/** A sample of three parameters, of which some cases failed. */
export function ensemble() {
  const count = 240;
  // Halton points in bases 2, 3 and 5.
  const halton = (base) => Array.from({ length: count }, (_, i) => {
    let [value, part, n] = [0, 1, i + 1];
    for (; n > 0; n = Math.floor(n / base)) value += (n % base) * (part /= base);
    return round(value);
  });
  const [mass, length, damping] = [2, 3, 5].map(halton);
  const failed = mass.map((m, i) => m < 0.12 && damping[i] < 0.6);
  const force = mass.map((m, i) => (failed[i] ? null : round(9.81 * m * (1 + 2 * length[i] ** 2))));
  const columns = { mass, length, damping, "largest force": force };
  const known = force.filter((f) => f !== null).sort((a, b) => a - b);
  const bins = 12;
  const edges = Array.from({ length: bins + 1 }, (_, i) => round(known[0] + ((known.at(-1) - known[0]) * i) / bins));
  const counts = edges.slice(1).map((edge, i) => known.filter((f) => f >= edges[i] && (f < edge || i === bins - 1)).length);
  const steps = counts.flatMap((c, i) => [[edges[i], c], [edges[i + 1], c]]);
  const cells = Array.from({ length: 7 }, (_, i) => i / 6);
  const means = cells.slice(1).flatMap((top, j) => cells.slice(1).map((right, i) => {
    const here = force.filter((f, k) => f !== null && mass[k] > cells[i] && mass[k] <= right && length[k] > cells[j] && length[k] <= top);
    return here.length > 0 ? round(here.reduce((a, b) => a + b) / here.length) : null;
  }));
  const t = Array.from({ length: 101 }, (_, i) => i / 50);
  const bands = [[5, 0.4], [25, 0.8], [50, 1], [75, 1.2], [95, 1.6]].map(([level, size]) =>
    ({ name: `${level} %`, x: t, y: t.map((s) => round(size + 0.3 * Math.sin(4 * s) + size * s)) }));
  const names = Object.keys(columns);
  return {
    format: 1, title: "swing", command: "kreisel study swing.json --out swing", program: "kreisel 0.1.0", summary: { status: "success", cases: count, failed: failed.filter(Boolean).length },
    plots: [
      { title: "Histogram of largest force", kind: "histogram", log: false, x_label: "largest force", y_label: "cases", curves: [{ name: "largest force", x: [edges[0], ...steps.map(([x]) => x), edges.at(-1)], y: [0, ...steps.map(([, y]) => y), 0] }] },
      { title: "Quantiles of knee", kind: "band", log: false, x_label: "time [s]", y_label: "knee", note: "Of 240 cases.", curves: bands },
      { title: "largest force over mass and length", kind: "heat", log: false, x_label: "mass", y_label: "length", z_label: "largest force", note: "Means over the cases of a cell.", cells: { x: cells, y: cells, values: means } },
      { title: "Scatter matrix", kind: "matrix", log: false, note: "Above the diagonal: correlation of ranks. Red: cases that failed.",
        curves: names.map((name) => ({ name, x: [], y: columns[name], marked: failed })), correlations: names.flatMap((a, i) => names.map((b, k) => (i === k ? 1 : [i, k].includes(3) ? [0.56, 0.79, -0.01][Math.min(i, k)] : 0.01))) },
    ],
    tables: [{ title: "Failed cases by cause", columns: ["status", "cases", { name: "of all", unit: "%" }, "first case", "what it says"], rows: [["invalid-input", 17, 7.1, 8, "mass: -0.05 is not positive"]] }],
  };
}

/** The model of a Stewart platform: six legs of a cylinder and a piston each, whose controllers follow strokes. */
export function stewartPlatform() {
  const height = 1.2;
  const at = (radius, degrees, z) => [radius * Math.cos((degrees * Math.PI) / 180), radius * Math.sin((degrees * Math.PI) / 180), z];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const model = {
    name: "Stewart platform", gravity: [0, 0, -9.81],
    bodies: [{ name: "platform", mass: 50, inertia: [5, 5, 10], position: [0, 0, height], shape: { cylinder: { radius: 0.6, length: 0.06, axis: [0, 0, 1] } } }],
    joints: [], forces: [], outputs: { position: { position: "platform" } }, simulation: { t_end: 4, rtol: 1e-6, atol: 1e-7 },
  };
  for (let k = 1; k <= 6; ++k) {
    const [third, side] = [120 * Math.floor((k - 1) / 2), k % 2 === 1 ? -1 : 1];
    const [foot, head] = [at(1, third + 12 * side, 0), at(0.6, third + 60 + 48 * side, height)];
    const way = head.map((v, i) => v - foot[i]);
    const length = Math.hypot(...way);
    const axis = way.map((v) => v / length);
    const along = (part) => foot.map((v, i) => v + part * way[i]);
    const across = [-axis[1], axis[0], 0];
    model.bodies.push(
      { name: `cylinder${k}`, mass: 6, inertia: [0.2, 0.2, 0.2], position: along(0.3), shape: { cylinder: { radius: 0.05, length: 0.6 * length, axis } } },
      { name: `piston${k}`, mass: 3, inertia: [0.1, 0.1, 0.1], position: along(0.72), shape: { cylinder: { radius: 0.03, length: 0.56 * length, axis } } },
    );
    model.joints.push(
      { name: `foot${k}`, type: "universal", between: ["ground", `cylinder${k}`], at: foot, axes: [across, cross(axis, across)] },
      { name: `slide${k}`, type: "prismatic", between: [`cylinder${k}`, `piston${k}`], at: along(0.72), axis },
      { name: `head${k}`, type: "spherical", between: [`piston${k}`, "platform"], at: head },
    );
    model.forces.push({ name: `drive${k}`, type: "force", joint: `slide${k}`, value: `=-60000*(x - 0.08*sin(3*t + ${k})) - 3000*v + 120` });
    model.outputs[`stroke${k}`] = { displacement: `slide${k}` };
    model.outputs[`force${k}`] = { force: `drive${k}` };
  }
  return model;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [kind, file] = process.argv.slice(2);
  const make = { top, study, ensemble }[kind];
  if (!make || !file) {
    console.error("usage: node sample.mjs top|study|ensemble FILE.html");
    process.exit(2);
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, pageWith(make()));
}
