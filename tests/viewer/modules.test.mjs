// The parts of the viewer that need no browser.
import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { fromViewer, viewerFolder } from "./support.mjs";

const { createRequire } = await import("node:module");
const esbuild = createRequire(fromViewer.resolve("vite"))("esbuild");

async function load(name) {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(viewerFolder, "src", `${name}.ts`)],
    bundle: true,
    format: "esm",
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
}

const { align, magnitudes } = await load("align");
const { readResult, nearestIndex, lastNotAbove } = await load("data");
const { significant, running, ticks, powerSplits, powerTicks } = await load("format");
const { Clock } = await load("clock");
const { valueAt, difference, within, magnitudeEnvelope, floorOf } = await load("curves");
const { webm } = await load("webm");
const { levels, Pace } = await load("pace");
const { ensemble, top, study } = await import(pathToFileURL(join(viewerFolder, "sample.mjs")).href);

test("curves on one grid stay on it", () => {
  const x = Float64Array.of(0, 1, 2);
  assert.deepEqual(align([{ x, y: [1, NaN, 3] }, { x, y: [4, 5, null] }]), [[0, 1, 2], [1, null, 3], [4, 5, null]]);
});

test("curves on different grids meet on the union and are drawn through", () => {
  const aligned = align([{ x: [0, 2], y: [1, 2] }, { x: [0, 1, 3], y: [5, null, 7] }]);
  assert.deepEqual(aligned, [[0, 1, 2, 3], [1, undefined, 2, undefined], [5, null, undefined, 7]]);
});

test("zeros have no place on a logarithmic axis", () => {
  assert.deepEqual(magnitudes([-2, 0, NaN, 3]), [2, null, null, 3]);
});

test("the nearest of increasing values is found", () => {
  const values = [0, 1, 2, 4];
  assert.deepEqual([-1, 0.4, 0.6, 3.1, 9].map((v) => nearestIndex(values, v)), [0, 0, 1, 3, 3]);
  assert.deepEqual([-1, 0, 3.9, 4, 9].map((v) => lastNotAbove(values, v)), [0, 0, 2, 3, 3]);
});

test("thinned series get their times back from increments", () => {
  const result = readResult({
    format: 1, title: "x", time: [0, 1, 2, 3, 4], points: 500,
    series: [{ group: "q", name: "x", at: [0, 2, 2], values: [7, null, 9] }, { group: "q", name: "y", at: [0, 4], constant: 0.1, column: 2 }],
    frames: [0, 4], bodies: [{ name: "b", x: [[1, 2, 3], [4, 5, 6]], R: [[1, 0, 0, 0, 1, 0, 0, 0, 1], [1, 0, 0, 0, 1, 0, 0, 0, 1]] }],
  });
  assert.deepEqual(Array.from(result.series[0].t), [0, 2, 4]);
  assert.deepEqual(Array.from(result.series[0].y), [7, NaN, 9]);
  assert.deepEqual([Array.from(result.series[1].t), Array.from(result.series[1].y)], [[0, 4], [0.1, 0.1]]);
  assert.deepEqual(Array.from(result.frameTimes), [0, 4]);
  assert.deepEqual(Array.from(result.bodies[0].x), [1, 2, 3, 4, 5, 6]);
  assert.equal(result.points, 500);
});

test("data that do not fit together are refused with a reason", () => {
  const refused = (data, reason) => assert.throws(() => readResult(data), reason);
  refused(null, /no data/);
  refused({ format: 2 }, /format 2/);
  refused({ format: 1, time: [0, 1], series: [{ name: "x", values: [1] }] }, /'x' has 1 values for 2 times/);
  refused({ format: 1, time: [0, 1], series: [{ name: "x", at: [0, 2], values: [1, 2] }] }, /outside the time grid/);
  refused({ format: 1, time: [0, 1], bodies: [{ name: "b", x: [], R: [] }] }, /0 frames, expected 2/);
});

test("the samples are readable", () => {
  assert.equal(readResult(JSON.parse(JSON.stringify(top()))).bodies.length, 1);
  assert.equal(readResult(JSON.parse(JSON.stringify(study()))).plots.length, 3);
  assert.equal(readResult(JSON.parse(JSON.stringify(ensemble()))).plots.length, 4);
});

test("numbers are short and exact enough", () => {
  assert.deepEqual([0, 1, 0.1, -1234.5678, 1e-12, 123456789, null, NaN].map((v) => significant(v)),
    ["0", "1", "0.1", "−1234.6", "1e−12", "1.2346e8", "–", "–"]);
  assert.deepEqual([0, 0.25, -12.5, 1e-9].map((v) => running(v)), ["0.00000", "0.25000", "−12.5000", "1.0000e−9"]);
  assert.deepEqual(ticks([0, 0.00025, 0.0005, 0.00075, 0.001]), ["0.00000", "0.00025", "0.00050", "0.00075", "0.00100"]);
  assert.deepEqual(ticks([-2e-7, 0, 2e-7]), ["−2e−7", "0", "2e−7"]);
});

test("logarithmic axes have labels at powers of ten", () => {
  assert.deepEqual(powerSplits(2e-4, 3e-1), [1e-3, 1e-2, 1e-1]);
  assert.deepEqual(powerSplits(1.5, 9), [2, 5]);
  assert.ok(powerSplits(1e-16, 1).length <= 8);
  assert.deepEqual(powerTicks([1e-3, 5, 10]), ["10⁻³", "5·10⁰", "10¹"]);
});

test("the clock halts at the points of the result", () => {
  const clock = new Clock(Float64Array.of(0, 1, 2, 3));
  clock.step(1);
  assert.equal(clock.t, 1);
  clock.set(1.5);
  clock.step(-1);
  assert.equal(clock.t, 1);
  clock.set(1.5);
  clock.step(1);
  assert.equal(clock.t, 2);
  clock.step(10);
  assert.equal(clock.t, 3);
  clock.step(-10);
  assert.equal(clock.t, 0);
});

test("the pointer moves the time that is shown only while the animation rests", () => {
  const clock = new Clock(Float64Array.of(0, 2));
  clock.hover(1.25);
  assert.equal(clock.shown, 1.25);
  assert.equal(clock.t, 0);
  clock.hover(null);
  assert.equal(clock.shown, 0);
});

test("values between points lie on the line, and outside there are none", () => {
  const curve = { t: [0, 1, 1, 3], y: [0, 2, 4, 8] };
  assert.deepEqual([-1, 0, 0.25, 2, 3, 4].map((t) => valueAt(curve, t)), [NaN, 0, 0.5, 6, 8, NaN]);
});

test("a difference has the points of both, where both are", () => {
  const { t, y } = difference({ t: [0, 1, 2], y: [0, 1, 2] }, { t: [0.5, 1.5, 2.5], y: [1, 1, 1] });
  assert.deepEqual([...t], [0.5, 1, 1.5, 2]);
  assert.deepEqual([...y], [0.5, 0, -0.5, -1]);
});

test("a stretch of time takes a neighbour on each side", () => {
  assert.deepEqual(within([0, 1, 2, 3, 4], 1.5, 2.5), [1, 4]);
  assert.deepEqual(within([], 0, 1), [0, 0]);
});

test("envelopes hold the smallest and the largest magnitude of every bucket", () => {
  const { t, low, high } = magnitudeEnvelope({ t: [0, 0.1, 0.6, 0.9, 1], y: [-3, 1, 0, NaN, 5] }, 0, 1, 2);
  assert.deepEqual([t, low, high], [[0.25, 0.75], [1, 5], [3, 5]]);
});

test("the floor comes from the size of what the numbers were computed from", () => {
  const eps = 64 * 2 ** -52;
  const series = [
    { panel: "Position", group: "q", name: "x", unit: "m", y: [3, -7] }, { panel: "R", group: "q", name: "R11", unit: "", y: [1] },
    { panel: "v", group: "v", name: "vx", unit: "m/s", y: [20] }, { panel: "Phi", group: "residual", name: "Phi1", unit: "m", y: [1e-16] },
    { panel: "Bv", group: "residual", name: "Bv1", unit: "m/s", y: [1e-15] }, { panel: "E", group: "energy", name: "change", unit: "J", y: [1e-9] },
  ];
  const result = { series, summary: { energy: { initial: -500 } } };
  assert.equal(floorOf(result, "Position"), 7 * eps);
  assert.equal(floorOf(result, "Phi"), 7 * eps);
  assert.equal(floorOf(result, "Bv"), 20 * eps);
  assert.equal(floorOf(result, "E"), 500 * eps);
});

test("velocities and forces of parts at rest are measured by those of the whole machine", () => {
  const series = [
    { panel: "Velocity", group: "v", name: "vx", unit: "m/s", y: [0, -4] }, { panel: "Angular velocity", group: "v", name: "wx", unit: "rad/s", y: [3e-14] },
    { panel: "Velocities", group: "v", name: "v1", unit: "", y: [1e9] }, { panel: "hinge.speed", group: "output", name: "hinge.speed", unit: "rad/s", y: [1e-13] },
    { panel: "Torque", group: "reaction", name: "Tx", unit: "N m", y: [1e-12] }, { panel: "Force", group: "reaction", name: "Fx", unit: "N", y: [80] },
    { panel: "way", group: "output", name: "way", unit: "m", y: [2e-11] },
  ];
  const floor = (panel) => floorOf({ series, summary: {} }, panel);
  assert.deepEqual(["Velocity", "Angular velocity", "hinge.speed", "Torque"].map(floor), [4 * 2 ** -39, 4 * 2 ** -39, 4 * 2 ** -39, 80 * 2 ** -33]);
  assert.deepEqual(["Velocities", "way"].map(floor), [1e9 * 64 * 2 ** -52, 2e-11 * 64 * 2 ** -52]);
});

test("residuals are not measured by states that are no places, such as pressures", () => {
  const series = [
    { panel: "Position", group: "q", name: "x", unit: "m", y: [5] }, { panel: "Coordinates", group: "q", name: "q1", unit: "", y: [2e7] },
    { panel: "Phi", group: "residual", name: "Phi1", unit: "m or rad", y: [1e-14] },
  ];
  assert.equal(floorOf({ series, summary: {} }, "Phi"), 5 * 64 * 2 ** -52);
  assert.equal(floorOf({ series: series.slice(1), summary: {} }, "Phi"), 2e7 * 64 * 2 ** -52, "a model in coordinates");
});

test("numbers in base 64 are read, and turns of 16 bits", () => {
  const bytes = (array) => Buffer.from(array.buffer).toString("base64");
  const half = Math.round(32767 * Math.SQRT1_2);
  const { series, bodies } = readResult({
    format: 1, title: "x", time: [0, 1],
    series: [{ group: "q", name: "x", values: bytes(Float32Array.of(0, 1e-9)), base: 5000 }],
    bodies: [{ name: "b", shape: null, x: bytes(Float32Array.of(1, 2, 3, 4, 5, 6)), Q: bytes(Int16Array.of(0, 0, half, half, 0, 0, -half, -half)) }],
  });
  assert.ok(Math.abs(series[0].y[1] - 5000 - 1e-9) < 1e-12);
  assert.deepEqual([...bodies[0].x], [1, 2, 3, 4, 5, 6]);
  for (const [i, expected] of [0, 0, Math.SQRT1_2, Math.SQRT1_2, 0, 0, Math.SQRT1_2, Math.SQRT1_2].entries()) assert.ok(Math.abs(bodies[0].q[i] - expected) < 1e-4, "neighbours lie on the same side");
});

test("numbers on a grid are read: differences of differences, the sign in the lowest bit", () => {
  const coded = (...bytes) => Buffer.from(bytes).toString("base64");
  // n = 5, 3, 201: differences 5, -2, 198 as 10, 3, 396 = 12 + 3 * 128
  const values = { low: 1, step: 0.5, order: 1, bytes: coded(10, 3, 140, 3) };
  const time = [0, 1, 2];
  const { series, bodies } = readResult({
    format: 1, title: "", time, series: [{ group: "q", name: "x", values }, { group: "q", name: "y", values: { ...values, order: 2, bytes: coded(10, 3, 2) } }],
    bodies: [{ name: "b", x: [values, { low: 7, step: 0, order: 1, bytes: coded(0, 0, 0) }, values], R: time.map(() => [1, 0, 0, 0, 1, 0, 0, 0, 1]) }],
  });
  assert.deepEqual(Array.from(series[0].y), [3.5, 2.5, 101.5]);
  assert.deepEqual(Array.from(series[1].y), [3.5, 5, 7]); // first differences 5, 3, 4 of n = 5, 8, 12
  assert.deepEqual(Array.from(bodies[0].x), [3.5, 7, 3.5, 2.5, 7, 2.5, 101.5, 7, 101.5]);
});

test("rotation matrices and quaternions are the same turns", () => {
  const angles = [0.3, 2.9, -3.1];
  for (const a of angles) {
    const [c, s] = [Math.cos(a), Math.sin(a)];
    const R = { x: [1, 0, 0, 0, c, -s, 0, s, c], y: [c, 0, s, 0, 1, 0, -s, 0, c], z: [c, -s, 0, s, c, 0, 0, 0, 1] };
    for (const [k, axis] of ["x", "y", "z"].entries()) {
      const { q } = readResult({ format: 1, title: "x", time: [0], bodies: [{ name: "b", x: [[0, 0, 0]], R: [R[axis]] }] }).bodies[0];
      const expected = [0, 0, 0, Math.cos(a / 2)];
      expected[k] = Math.sin(a / 2);
      const sign = Math.sign(expected[3] * q[3] + expected[k] * q[k]);
      for (let i = 0; i < 4; ++i) assert.ok(Math.abs(q[i] - sign * expected[i]) < 1e-6, `${axis} ${a}: ${q}`);
    }
  }
});

test("a film is a Matroska file with its pictures in order", async () => {
  const picture = (at, isKey) => ({ bytes: Uint8Array.of(1, 2, 3), at, isKey });
  const bytes = new Uint8Array(await webm([picture(0, true), picture(40, false), picture(80, true)], 320, 240, 120, "V_VP8").arrayBuffer());
  assert.deepEqual([...bytes.subarray(0, 4)], [0x1a, 0x45, 0xdf, 0xa3]);
  const text = Buffer.from(bytes).toString("latin1");
  assert.equal(text.split("\x1f\x43\xb6\x75").length - 1, 2, "a cluster for every key picture");
  assert.equal(text.split("\xa3\x01\x00\x00\x00\x00\x00\x00\x07\x81").length - 1, 3, "three blocks");
  assert.ok(text.includes("V_VP8") && text.includes("webm"));
});

test("motions that a machine cannot draw smoothly are drawn with less detail", () => {
  const levelAfter = (pace, times) => {
    for (const time of times) pace.took(time);
    return pace.level;
  };
  assert.equal(levelAfter(new Pace(), Array(200).fill(17)), 0, "60 pictures per second");
  assert.equal(levelAfter(new Pace(), Array(200).fill(33)), 0, "30 pictures per second");
  assert.equal(levelAfter(new Pace(), [17, 17, 60, 17, 17, 17, 60, 17]), 0, "one late picture among others");
  assert.equal(levelAfter(new Pace(), Array(4).fill(60)), 1);
  assert.equal(levelAfter(new Pace(), Array(8).fill(60)), 2);
  assert.equal(levelAfter(new Pace(), [500, 500]), levels.length - 1, "a very slow machine does not wait for four pictures");
  assert.equal(levelAfter(new Pace(), Array(200).fill(60)), levels.length - 1);
  assert.equal(levelAfter(new Pace(), [20_000, NaN, Infinity]), 0, "a page that was hidden");
  const pace = new Pace();
  levelAfter(pace, [500, 500]);
  pace.rested();
  assert.equal(pace.level, levels.length - 2);
  for (const [coarse, fine] of levels.slice(1).map((level, i) => [level, levels[i]])) assert.ok(coarse.pointsBelow > fine.pointsBelow && coarse.resolution <= fine.resolution);
});

test("a clock that is stopped and started between two pictures runs once", () => {
  const due = new Map();
  let last = 0;
  globalThis.requestAnimationFrame = (call) => (due.set(++last, call), last);
  globalThis.cancelAnimationFrame = (handle) => due.delete(handle);
  const clock = new Clock(Float64Array.of(0, 10));
  clock.play();
  clock.pause();
  clock.play();
  assert.equal(due.size, 1);
  let calls = 0;
  clock.onChange(() => ++calls);
  for (const [handle, call] of [...due]) due.delete(handle), call(performance.now() + 16);
  assert.equal(calls, 1);
  assert.equal(due.size, 1);
});
