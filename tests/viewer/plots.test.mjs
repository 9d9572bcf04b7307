// What plots and pictures show, and how they look on three screens.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { pathToFileURL } from "node:url";
import { flawless, flaws, heavyTop, kreisel, launch, open, pageOf, viewerFolder, work } from "./support.mjs";

const browser = await launch();
after(() => browser.close());
const { ensemble, pageWith, stewartPlatform, study, top } = await import(pathToFileURL(join(viewerFolder, "sample.mjs")).href);
const emptyPage = readFileSync(process.env.KREISEL_VIEWER_PAGE, "utf8");

function sample(name, data) {
  const path = join(work, name);
  writeFileSync(path, pageWith(data, emptyPage));
  return path;
}

const times = (n, end) => Array.from({ length: n }, (_, i) => (i * end) / (n - 1));
const settle = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

/** A result with one panel. */
function flat(series, panel = { name: "P" }, t = times(series[0].values.length, 1), more = {}) {
  return { format: 1, title: "sample", summary: {}, time: t, points: t.length, panels: [panel], series: series.map((s) => ({ group: "q", panel: "P", unit: "m", ...s })), ...more };
}

test("a slow curve is smooth at one pixel per pixel: its ink moves by fractions of pixels", async () => {
  const { page, close } = await open(browser, sample("slow.html", flat([{ name: "y", values: times(400, 1).map((t) => 0.2 * t) }, { name: "wide", values: times(400, 1).map((t) => (t < 0.5 ? -1 : 1)) }])), { deviceScaleFactor: 1 });
  const centres = await page.locator('[data-panel="P"] canvas').evaluate((canvas) => {
    const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const out = [];
    for (let x = 120; x < width - 60; x += 1) {
      let [sum, weight] = [0, 0];
      for (let y = 0; y < height - 60; ++y) { // labels below have fringes of all colours
        const at = 4 * (y * width + x);
        // Blue ink, wherever it is mixed with the paper.
        const ink = data[at + 3] > 0 ? Math.max(0, data[at + 2] - data[at] - 40) : 0;
        sum += ink * y;
        weight += ink;
      }
      if (weight > 0) out.push(sum / weight);
    }
    return out;
  });
  assert.ok(centres.length > 200, `${centres.length} columns have ink`);
  const fractions = new Set(centres.map((c) => Math.round(10 * (c - Math.floor(c)))));
  assert.ok(fractions.size >= 6, `fractions of pixels: ${[...fractions]}`);
  const jump = Math.max(...centres.slice(1).map((c, i) => Math.abs(c - centres[i])));
  assert.ok(jump < 0.6, `the ink jumps by ${jump} pixels`);
  await close();
});

test("a steep curve of many points is no stair: every column of pixels has the same ink", async () => {
  const zigzag = times(8000, 1).map((t) => 2 * Math.abs(((16 * t) % 1) - 0.5));
  const { page, close } = await open(browser, sample("steep.html", flat([{ name: "y", values: zigzag }])), { deviceScaleFactor: 1 });
  const rows = await page.locator('[data-panel="P"] canvas').evaluate((canvas) => {
    const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const out = [];
    for (let x = 120; x < width - 60; x += 1) {
      let ink = 0;
      for (let y = 0; y < height - 60; ++y) {
        const at = 4 * (y * width + x);
        if (data[at + 3] > 0) ink += Math.max(0, data[at + 2] - data[at] - 40) / 100;
      }
      if (ink > 0) out.push(ink);
    }
    return out.sort((a, b) => a - b);
  });
  assert.ok(rows.length > 200, `${rows.length} columns have ink`);
  const at = (part) => rows[Math.floor(part * (rows.length - 1))];
  // Corners aside, where less ink lies in a column.
  assert.ok(at(0.98) < 1.2 * at(0.5), `ink per column: ${at(0.5)}, at most ${at(0.98)}`);
  await close();
});

test("noise at round-off does not fill an axis, and the axis says so", async () => {
  const noise = times(500, 1).map((t, i) => 1e-16 * Math.sin(977 * i));
  const { page, troubles, close } = await open(browser, sample("noise.html", flat([{ name: "x", of: "a", values: times(500, 1) }, { name: "x", of: "b", values: noise }])));
  const shown = () => page.evaluate(() => {
    const { plot, note } = window.kreisel.panels.panelNamed("P");
    return { range: [plot.scales.y.min, plot.scales.y.max], note };
  });
  assert.equal((await shown()).note, "");
  await page.locator('[data-panel="P"] select').first().selectOption("b");
  const { range, note } = await shown();
  assert.ok(range[1] > 1e-14 && range[0] < -1e-14, `the axis goes from ${range}`);
  assert.match(note, /^round-off: below 1.4e−14 m$/);
  assert.match(await page.locator('[data-panel="P"] .chart').getAttribute("aria-label"), /P over time from 0 to 1 s: x from .* round-off/);
  assert.deepEqual(troubles, []);
  await close();
});

test("many residuals are an envelope: its upper edge is the largest magnitude there", async () => {
  const n = 40_001;
  const values = times(n, 1).map((t, i) => 1e-6 * (1 + t) * Math.sin(1.7 * i));
  const { page, close } = await open(browser, sample("envelope.html", flat([{ name: "Phi1", values, group: "residual" }, { name: "x", values: times(n, 1), panel: "Q" }], { name: "P", log: true })));
  const { high, low, count, hasEnvelope } = await page.evaluate(() => {
    const panel = window.kreisel.panels.panelNamed("P");
    const [t, high, low] = panel.data;
    return { hasEnvelope: panel.hasEnvelope, count: t.length, high: [high[10], high[t.length - 10]], low: low[10] };
  });
  assert.equal(hasEnvelope, true);
  assert.ok(count < 1000, `${count} buckets`);
  assert.ok(Math.abs(high[0] / 1e-6 - 1) < 0.08 && Math.abs(high[1] / 2e-6 - 1) < 0.08, String(high));
  assert.ok(low < 0.2 * high[0]);
  await close();
});

const result = heavyTop("plots", "--step", "0.002", "--t-end", "1");
const file = pageOf(result);

test("what the reader chose stands in the address, and a reload shows it", async () => {
  const { page, troubles, close } = await open(browser, file);
  await page.locator('[data-panel="Step size"] > summary').click();
  await page.locator('[data-panel="Position"] .legend-entry').first().click();
  await page.locator('[data-panel="Position"] .toggle').click();
  await page.getByRole("button", { name: "names", exact: true }).click();
  await page.evaluate(() => {
    window.kreisel.panels.addPlot("top x", ["top y", "top z"]);
    window.kreisel.panels.window.show([0.25, 0.5]);
  });
  await page.waitForFunction(() => /plots=.*t=|t=.*plots=/.test(location.hash));
  const address = page.url();
  assert.match(address, /#.*Step\+size\.open=0/);
  const again = await page.context().newPage();
  await again.goto(address);
  await again.waitForFunction(() => "kreisel" in window);
  const seen = await again.evaluate(() => ({
    range: window.kreisel.panels.window.range,
    names: window.kreisel.scene.settings.names,
    open: document.querySelector('[data-panel="Step size"]').open,
    log: document.querySelector('[data-panel="Position"] .toggle').getAttribute("aria-pressed"),
    hidden: document.querySelector('[data-panel="Position"] .legend-entry').getAttribute("aria-pressed"),
    own: document.querySelector(".panel").dataset.panel,
  }));
  assert.deepEqual(seen, { range: [0.25, 0.5], names: true, open: false, log: "true", hidden: "false", own: "top y, top z over top x" });
  await again.getByRole("button", { name: "remove this plot" }).click();
  assert.equal(await again.locator('[data-panel="top y, top z over top x"]').count(), 0);
  assert.deepEqual(troubles, []);
  await close();
});

test("a plot of the reader's choice is made by hand: curves over another curve", async () => {
  const { page, troubles, close } = await open(browser, file);
  await page.getByRole("button", { name: "new plot" }).click();
  const dialog = page.getByRole("dialog", { name: "New plot" });
  await dialog.getByLabel("curves").selectOption(["top y"]);
  await dialog.getByLabel("over", { exact: true }).selectOption("top x");
  await dialog.getByRole("button", { name: "add" }).click();
  const panel = page.locator('[data-panel="top y over top x"]');
  await panel.locator("canvas").waitFor();
  const inked = await panel.locator("canvas").evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 100 && data[i + 2] - data[i] > 100) ++n;
    return n;
  });
  assert.ok(inked > 200, `${inked} pixels of ink`);
  const dot = () => panel.locator(".now").evaluate((element) => element.style.transform);
  const before = await dot();
  await page.evaluate(() => window.kreisel.clock.set(0.5));
  assert.notEqual(await dot(), before, "the dot follows the time");
  assert.deepEqual(troubles, []);
  await close();
});

test("several bodies share a plot, and two results their difference", async () => {
  const t = times(101, 1);
  const two = (shift) => flat([{ name: "x", of: "a", values: t.map((s) => s * s) }, { name: "x", of: "b", values: t.map((s) => s + shift) }], { name: "P" }, t);
  const data = { ...two(0), overlay: [two(0.25)] };
  const { page, troubles, close } = await open(browser, sample("two.html", data));
  await page.locator('[data-panel="P"] select.more').selectOption("all");
  assert.deepEqual(await page.locator('[data-panel="P"] .legend .name').allTextContents(), ["a x", "b x"]);
  await page.getByRole("button", { name: "difference" }).click();
  const differences = await page.evaluate(() => window.kreisel.panels.panelNamed("P").lines.map((line) => [line.label, Math.min(...line.curve.y), Math.max(...line.curve.y)].map((v) => (typeof v === "number" ? Math.round(1e9 * v) / 1e9 : v))));
  assert.deepEqual(differences, [["a x", 0, 0], ["b x", 0.25, 0.25]]);
  assert.deepEqual(troubles, []);
  await close();
});

test("what a plot shows is saved as CSV, SVG and PNG", async () => {
  const { page, troubles, close } = await open(browser, file);
  const save = async (what) => {
    const panel = page.locator('[data-panel="Position"]');
    await panel.locator(".menu > summary").click();
    const [download] = await Promise.all([page.waitForEvent("download"), panel.getByRole("button", { name: what, exact: true }).click()]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  };
  await page.evaluate(() => window.kreisel.panels.window.show([0.25, 0.5]));
  await page.locator('[data-panel="Position"] .legend-entry').nth(1).click();
  const csv = await save("CSV");
  assert.equal(csv.name, "heavy-top-position-top.csv");
  const lines = String(csv.bytes).trim().split("\n");
  assert.equal(lines[0], "t [s],x [m],z [m]");
  assert.equal(lines.length, 1 + 126, "the shown stretch of time");
  const [t, x, z] = lines[1].split(",").map(Number);
  assert.ok(Math.abs(t - 0.25) < 1e-9 && Math.abs(Math.hypot(x, z)) <= 1.0001);
  const svg = await save("SVG");
  assert.match(String(svg.bytes), /^<svg [^]*<title>Position<\/title>[^]*t \[s\][^]*<path d="M[^]*<\/svg>/);
  assert.equal((String(svg.bytes).match(/<path /g) ?? []).length, 2);
  const png = await save("PNG");
  assert.deepEqual([...png.bytes.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
  assert.ok(png.bytes.length > 3000);
  assert.deepEqual(troubles, []);
  await close();
});

test("the readout follows a drag zoom", async () => {
  const { page, close } = await open(browser, file);
  const over = page.locator('[data-panel="Position"] .u-over');
  const box = await over.boundingBox();
  const at = (fraction) => [box.x + fraction * box.width, box.y + box.height / 2];
  await page.mouse.move(...at(0.2));
  await page.mouse.down();
  await page.mouse.move(...at(0.6), { steps: 4 });
  await page.mouse.up();
  await settle(page);
  const shown = await page.evaluate(() => window.kreisel.clock.shown);
  assert.ok(Math.abs(shown - (0.2 + 0.6 * 0.4)) < 0.01, `the pointer is at 60 % of 0.2 to 0.6, shown is ${shown}`);
  await close();
});

// -- the scene

const mechanism = join(work, "excavator");
kreisel("run", "excavator", "--out", mechanism, "--quiet", "--t-end", "0.5");
const machine = pageOf(mechanism);

test("joints, actuators and outputs of a machine are drawn, and the view can be chosen", async () => {
  const { page, troubles, close } = await open(browser, machine);
  const kinds = await page.evaluate(() => window.kreisel.result.marks.map((m) => `${m.kind} ${m.type}`));
  for (const kind of ["joint revolute", "force linear-actuator", "output distance", "output angle", "output position"]) assert.ok(kinds.includes(kind), `${kind} is not among ${kinds}`);
  const picture = async () => {
    await settle(page);
    return page.locator(".scene canvas").screenshot();
  };
  const seen = [await picture()];
  const differs = async (what) => {
    const now = await picture();
    for (const old of seen) assert.notDeepEqual(now, old, what);
    seen.push(now);
  };
  await page.keyboard.press("p");
  await differs("without parts");
  await page.keyboard.press("n");
  await differs("names");
  for (const look of ["clear", "x", "z"]) {
    await page.getByLabel("look").selectOption(look);
    await differs(look);
  }
  await page.getByLabel("look").selectOption("solid");
  for (const view of ["front", "side", "top"]) {
    await page.getByLabel("camera").selectOption(view);
    await differs(view);
  }
  await page.getByLabel("follow").selectOption("bucket");
  await page.evaluate(() => window.kreisel.clock.set(0.4));
  await differs("follow");
  const target = await page.evaluate(() => {
    const { scene, result, clock } = window.kreisel;
    const { x } = result.bodies.find((body) => body.name === "bucket");
    const i = result.frameTimes.findIndex((t) => t >= clock.t);
    return scene.controls.target.distanceTo({ x: x[3 * i], y: x[3 * i + 1], z: x[3 * i + 2] });
  });
  assert.ok(target < 0.05, `the camera looks ${target} m beside the bucket`);
  assert.deepEqual(troubles, []);
  await close();
});

test("a rod is drawn through its nodes, and coloured by what is known along it", async () => {
  const folder = join(work, "whip");
  kreisel("run", "whip", "--t-end", "0.3", "--out", folder, "--quiet");
  const { page, troubles, close } = await open(browser, pageOf(folder));
  await page.evaluate(() => window.kreisel.clock.set(0.25));
  await settle(page);
  const seen = () => page.evaluate(() => {
    const { scene, result } = window.kreisel;
    const [{ mesh }] = scene.rods[0].meshes;
    const [rod] = result.rods;
    const { array } = mesh.geometry.getAttribute("position");
    const perRing = scene.rods[0].meshes[0].outline.length;
    // The middle of the last ring, and the pose of the last node.
    const last = array.length / 3 - perRing;
    const tip = [0, 1, 2].map((k) => (array[3 * last + k] + array[3 * (last + (perRing - 1) / 2) + k]) / 2);
    const node = scene.rods[0].object.position.clone();
    scene.bodies[0].pose(rod.bodies[rod.bodies.length - 1], node, scene.camera.quaternion.clone());
    const colors = mesh.geometry.getAttribute("color").array;
    const shades = new Set();
    for (let i = 0; i < colors.length; i += 3 * perRing) shades.add([0, 1, 2].map((k) => Math.round(50 * colors[i + k])).join());
    return { miss: Math.hypot(tip[0] - node.x, tip[1] - node.y, tip[2] - node.z), shades: [...shades], names: scene.tintNames, own: scene.bodies[0].bodies[rod.bodies[2]].children.length };
  });
  const by = async (name) => {
    await page.getByLabel("What the colours of the rods mean").or(page.locator(`select:has(option:text-is("${name}"))`)).first().selectOption({ label: name });
    await settle(page);
    return seen();
  };
  const tension = await seen();
  assert.ok(tension.miss < 1e-3, `the rod ends ${tension.miss} m beside its last node`);
  assert.equal(tension.own, 0, "the nodes are not drawn beside it");
  assert.deepEqual(tension.names.slice(-2), ["curvature", "stretch"]);
  assert.ok(tension.names.includes("My") && tension.shades.length > 3, `${tension.shades.length} colours`);
  const bending = await by("curvature");
  assert.notDeepEqual(bending.shades, tension.shades);
  assert.deepEqual(troubles, []);
  await close();
});

test("arrows and bodies are in view at all times, and fill the picture", async () => {
  const frames = times(21, 1);
  const data = {
    format: 1, title: "reach", summary: {}, time: frames, series: [], gravity: 9.81,
    bodies: [{ name: "b", shape: { box: { size: [0.4, 0.4, 1.6] } }, x: frames.map((t) => [3 * t, 0, 0]), R: frames.map(() => [1, 0, 0, 0, 1, 0, 0, 0, 1]) }],
    forces: [[0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, -1, 0], [0, 0, -1]].map((direction, i) => ({
      joint: `j${i}`, kind: "reaction", at: frames.map((t) => [3 * t, 0, 0]), vector: frames.map((t) => direction.map((v) => v * (1 + t))),
    })),
  };
  const file = sample("reach.html", data);
  for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
    const { page, troubles, close } = await open(browser, file, { viewport });
    for (const view of ["oblique", "front", "side", "top"]) {
      await page.getByLabel("camera").selectOption(view);
      const reach = await page.evaluate((times) => {
        const { scene, clock } = window.kreisel;
        let largest = 0;
        for (const t of times) {
          clock.set(t);
          scene.render();
          const look = (point) => {
            point.project(scene.camera);
            largest = Math.max(largest, Math.abs(point.x), Math.abs(point.y));
          };
          for (const { arrow } of scene.arrows) look(arrow.localToWorld(arrow.head.position.clone().setY(arrow.head.position.y + 4 * arrow.thickness * arrow.head.scale.y)));
          for (const x of [-0.2, 0.2]) for (const y of [-0.2, 0.2]) for (const z of [-0.8, 0.8]) look(scene.camera.position.clone().set(3 * t + x, y, z));
        }
        return largest;
      }, frames);
      assert.ok(reach < 0.93 && reach > 0.9, `${viewport.width} px, ${view}: what is farthest out is at ${reach} of the half of the picture`);
    }
    assert.deepEqual(troubles, []);
    await close();
  }
});

test("pages of machines with many bodies are small: a Stewart platform at most 3 MB", async () => {
  const model = join(work, "stewart.json");
  writeFileSync(model, JSON.stringify(stewartPlatform()));
  kreisel("run", model, "--out", join(work, "stewart"), "--quiet");
  const file = pageOf(join(work, "stewart"));
  assert.ok(statSync(file).size < 3e6, `${statSync(file).size} bytes`);
  kreisel("run", "excavator", "--out", join(work, "whole-excavator"), "--quiet");
  const plane = statSync(pageOf(join(work, "whole-excavator"))).size;
  assert.ok(plane < 3e6, `${plane} bytes: columns that stay constant are written once`);
  const { page, troubles, close } = await open(browser, file);
  assert.equal(await page.evaluate(() => window.kreisel.result.bodies.length), 13);
  assert.deepEqual(troubles, []);
  await close();
  const robot = join(work, "cable-robot");
  kreisel("run", "cable-robot", "--output-step", "0.00342", "--out", robot, "--quiet");
  assert.ok(statSync(pageOf(robot)).size < 3e6, "971 curves of 585 points and four cables");
});

test("the angle of a joint goes on after half a turn, as the integral of its speed", async () => {
  for (const [name, ...options] of [["governor-dense"], ["governor-sparse", "--output-step", "0.4"]]) {
    const machine = join(work, name);
    kreisel("run", "flyball-governor", "--t-end", "4", "--out", machine, "--quiet", ...options);
    const { page, close } = await open(browser, pageOf(machine));
    const of = (series) => page.evaluate((name) => {
      const { t, y } = window.kreisel.result.series.find((s) => s.name === name);
      return { t: Array.from(t), y: Array.from(y) };
    }, series);
    const [angle, speed] = [await of("bearing.angle"), await of("bearing.speed")];
    const turned = speed.y.slice(1).reduce((sum, v, i) => sum + ((v + speed.y[i]) / 2) * (speed.t[i + 1] - speed.t[i]), 0);
    assert.ok(turned > 22, `${turned}`);
    const found = angle.y[angle.y.length - 1] - angle.y[0];
    assert.ok(Math.abs(found - turned) < 0.5, `${name}: ${found} instead of ${turned}`);
    angle.y.slice(1).forEach((y, i) => assert.ok(y >= angle.y[i], `${name} at ${angle.t[i]}`));
    await close();
  }
});

test("the ground is not above what moves", async () => {
  const lowest = (x) => ({ format: 1, title: "low", summary: {}, time: [0, 1], series: [], bodies: [{ name: "b", shape: { sphere: { radius: 0.5 } }, x: [x, x], R: [[1, 0, 0, 0, 1, 0, 0, 0, 1], [1, 0, 0, 0, 1, 0, 0, 0, 1]] }] });
  for (const [x, level] of [[[0, 0, 2], 0], [[0, 0, -2], -2.5]]) {
    const { page, close } = await open(browser, sample("low.html", lowest(x)));
    assert.ok(Math.abs((await page.evaluate(() => window.kreisel.scene.groundLevel())) - level) < 1e-6);
    await close();
  }
});

test("labels of numbers that hardly differ are not cut off, and do not touch each other", async () => {
  const t = times(200, 4e-6).map((s) => 0.5 + s);
  const { page, close } = await open(browser, sample("close.html", flat([{ name: "y", values: t.map((s) => -9.81 + 2e-6 * Math.sin(2e6 * s)) }], { name: "P" }, t)));
  await settle(page);
  const { room, labels, apart, wide } = await page.evaluate(() => {
    const { plot } = window.kreisel.panels.panelNamed("P");
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = plot.axes[1].font[0] ?? plot.axes[1].font;
    const widest = (axis) => Math.max(...axis._values.map((text) => pen.measureText(text).width / devicePixelRatio));
    const places = plot.axes[0]._splits.map((value) => plot.valToPos(value, "x"));
    return { room: plot.axes[1]._size - 5, labels: widest(plot.axes[1]), apart: Math.min(...places.slice(1).map((x, i) => x - places[i])), wide: widest(plot.axes[0]) };
  });
  assert.ok(labels > 60 && labels < room, `labels of ${labels} px in ${room} px`);
  assert.ok(wide > 40 && wide < apart, `labels of ${wide} px every ${apart} px`);
  await close();
});

test("curves that are zero throughout are lines on logarithmic axes, too, and labels do not touch in the corner", async () => {
  const zeros = times(50, 1).map(() => 0);
  const { page, troubles, close } = await open(browser, sample("zeros.html", flat([{ name: "Phi1", group: "residual", values: zeros }], { name: "P", log: true })));
  const { ink, labels } = await page.evaluate(() => {
    const { plot } = window.kreisel.panels.panelNamed("P");
    const canvas = plot.ctx.canvas;
    const row = plot.ctx.getImageData(0, Math.round(plot.valToPos(0, "y", true)) - 1, canvas.width, 3).data;
    let ink = 0;
    for (let i = 0; i < row.length; i += 4) if (row[i + 3] > 0 && row[i + 2] > row[i] + 60) ++ink;
    return { ink, labels: plot.axes[1]._splits.map((v) => plot.over.clientHeight - plot.valToPos(v, "y")) };
  });
  assert.ok(ink > 200, `${ink} points of ink`);
  assert.ok(Math.min(...labels) > 5, `a label ${Math.min(...labels)} px above the other axis`);
  assert.deepEqual(troubles, []);
  await close();
});

test("the difference of two results is drawn over a curve, too", async () => {
  const t = times(11, 1);
  const result = (factor) => flat([{ name: "x", values: t }, { name: "y", values: t.map((v) => factor * v * v) }]);
  const { page, troubles, close } = await open(browser, sample("two-over.html", { ...result(1), overlay: [result(3)] }));
  await page.evaluate(() => window.kreisel.panels.addPlot("x", ["y"]));
  await page.getByRole("button", { name: "difference" }).click();
  await page.waitForFunction(() => (window.kreisel.panels.panelNamed("y over x").plot?.data[1]?.[0] ?? []).length > 0);
  const [xs, ys] = await page.evaluate(() => window.kreisel.panels.panelNamed("y over x").plot.data[1]);
  assert.equal(xs.length, 11);
  xs.forEach((x, i) => assert.ok(Math.abs(ys[i] - 2 * x * x) < 1e-5, `${ys[i]} at ${x}`));
  assert.match(await page.evaluate(() => window.kreisel.panels.panelNamed("y over x").csv().split("\n")[0]), /y \(difference\)/);
  assert.deepEqual(troubles, []);
  await close();
});

test("titles of several lines begin beside their arrow", async () => {
  const long = "a quantity with a name that is far too long for one line of a plot";
  const { page, troubles, close } = await open(browser, sample("title.html", flat([{ name: long, values: [1, 2, 3] }, { name: "other", values: [1, 2, 4] }])), { viewport: { width: 390, height: 844 } });
  await page.evaluate((long) => window.kreisel.panels.addPlot(long, ["other"]), long);
  const { rows, tops, beside } = await page.locator(".panel").first().locator("summary").evaluateAll(([summary]) => {
    const range = document.createRange();
    range.selectNodeContents(summary.querySelector("h3"));
    const lines = Array.from(range.getClientRects());
    const box = summary.getBoundingClientRect();
    const tools = summary.parentElement.querySelector(".panel-tools").getBoundingClientRect();
    return { rows: lines.length, tops: lines[0].top - box.top, beside: lines.every((line) => line.left > box.left + 20 && line.right <= tools.left) };
  });
  assert.ok(rows > 1, `${rows} lines`);
  assert.ok(tops < 14, `the first line begins ${tops} px below the edge, the arrow does not`);
  assert.ok(beside, "all lines are right of the arrow and left of the buttons");
  assert.deepEqual(troubles, []);
  await close();
});

test("what has no force is no reason to look from far away, and gravity stands left of the axes whichever way is up", async () => {
  const frames = times(3, 1);
  const pose = (x) => frames.map(() => x);
  const data = (up, forces) => ({
    format: 1, title: "near", summary: {}, time: frames, series: [], up, gravity: 9.81,
    bodies: [{ name: "b", shape: { box: { size: [1, 1, 1] } }, x: pose([0, 0, 0]), R: pose([1, 0, 0, 0, 1, 0, 0, 0, 1]) }], forces,
  });
  const far = [{ joint: "motor", kind: "reaction", at: pose([9, 0, 0]), vector: pose([0, 0, 0]) }];
  const look = async (name, content) => {
    const { page, troubles, close } = await open(browser, sample(name, content));
    const found = await page.evaluate(() => {
      const { scene } = window.kreisel;
      scene.render();
      const place = (x) => scene.camera.position.clone().set(...x).project(scene.camera);
      const gravity = scene.content.children.find((part) => part.type === "Group" && part.children.filter((arrow) => arrow.head).length === 2);
      return { distance: scene.camera.position.length(), gravity: place(gravity.children[0].position.toArray()).x, origin: place([0, 0, 0]).x };
    });
    assert.deepEqual(troubles, []);
    await close();
    return found;
  };
  const near = await look("near.html", data([0, 0, 1], []));
  assert.ok(Math.abs((await look("motor.html", data([0, 0, 1], far))).distance / near.distance - 1) < 1e-6);
  for (const up of [[0, 0, 1], [0, 1, 0], [1, 0, 0]]) {
    const { gravity, origin } = await look(`up${up.join("")}.html`, data(up, []));
    assert.ok(gravity < origin - 0.02, `up ${up}: gravity at ${gravity}, the axes at ${origin}`);
  }
});

test("10,000 bodies move within a frame of 30 per second", async () => {
  const [bodies, frames] = [10_000, 4];
  const R = Array.from({ length: frames }, (_, i) => [Math.cos(i), -Math.sin(i), 0, Math.sin(i), Math.cos(i), 0, 0, 0, 1]);
  const data = {
    format: 1, title: "many", summary: {}, time: [0, 0.1, 0.2, 0.3], series: [],
    bodies: Array.from({ length: bodies }, (_, k) => ({ name: `b${k}`, shape: { box: { size: [0.3, 0.3, 0.3] } }, x: R.map((_, i) => [k % 100, Math.floor(k / 100), Math.sin(i + k)]), R })),
  };
  const { page, troubles, close } = await open(browser, sample("many.html", data), { viewport: { width: 500, height: 400 } });
  const { calls, ms } = await page.evaluate(() => {
    const { scene } = window.kreisel;
    return { calls: scene.renderer.info.render.calls, ms: Math.min(...[1, 2, 3, 4, 5].map(() => scene.timeMoves(3))) };
  });
  assert.ok(calls < 100, `${calls} draw calls`);
  assert.ok(ms < 33, `${ms} ms`);
  assert.deepEqual(troubles, []);
  await close();
});

test("of many bodies the small ones are points, those outside the picture are left out, and each can be picked", async () => {
  const R = [[1, 0, 0, 0, 1, 0, 0, 0, 1], [1, 0, 0, 0, 1, 0, 0, 0, 1]];
  const data = {
    format: 1, title: "crowd", summary: {}, time: [0, 1], series: [],
    bodies: Array.from({ length: 400 }, (_, k) => ({ name: `b${k}`, shape: { sphere: { radius: 0.3 } }, x: R.map(() => [k % 20, Math.floor(k / 20), 0]), R })),
  };
  const { page, troubles, close } = await open(browser, sample("crowd.html", data), { viewport: { width: 900, height: 700 } });
  const at = (distance, level) => page.evaluate(([distance, level]) => {
    const { scene } = window.kreisel;
    scene.resetCamera("top");
    const { camera, controls } = scene;
    camera.position.set(controls.target.x, controls.target.y - 0.01, distance);
    camera.far = 1e4;
    camera.updateProjectionMatrix();
    camera.lookAt(controls.target);
    scene.render(level);
    const kinds = scene.bodies[0].kinds;
    const count = (of) => kinds.reduce((sum, kind) => sum + of(kind), 0);
    // Diameter on the screen of a body in the middle.
    const pixels = (0.6 * scene.canvas.height * camera.projectionMatrix.elements[5]) / 2 / distance;
    return { pixels, whole: count(({ parts }) => (parts[0].mesh.visible ? parts[0].mesh.count : 0)), dots: count(({ dots }) => (dots.visible ? dots.geometry.drawRange.count : 0)), ratio: scene.canvas.width / scene.element.clientWidth };
  }, [distance, level]);
  const near = await at(40, 0);
  assert.ok(near.pixels > 4, `${near.pixels} pixels`);
  assert.deepEqual([near.whole, near.dots, near.ratio], [400, 0, 1]);
  const far = await at(400, 0);
  assert.ok(far.pixels < 4, `${far.pixels} pixels`);
  assert.deepEqual([far.whole, far.dots], [0, 400]);
  const moving = await at(40, 3);
  assert.deepEqual([moving.whole, moving.dots, moving.ratio], [0, 400, 0.5]);
  const close_by = await at(4, 0);
  assert.ok(close_by.whole > 0 && close_by.whole < 100 && close_by.dots === 0, `${close_by.whole} and ${close_by.dots} of 400 bodies are drawn`);
  // Bodies that are points now can be picked, too.
  const picked = await page.evaluate(() => {
    const { scene } = window.kreisel;
    scene.resetCamera("top");
    scene.render(3);
    const names = [];
    scene.onPick = (name) => names.push(name);
    const box = scene.canvas.getBoundingClientRect();
    for (const [x, y] of [[0, 0], [7, 11]]) {
      const seen = scene.camera.position.clone().set(x, y, 0).project(scene.camera);
      scene.pick({ clientX: box.left + ((seen.x + 1) / 2) * box.width, clientY: box.top + ((1 - seen.y) / 2) * box.height });
    }
    return names;
  });
  assert.deepEqual(picked, ["b0", `b${11 * 20 + 7}`]);
  assert.deepEqual(troubles, []);
  await close();
});

test("a picture per picture of the browser while the clock runs, full detail when it stops", async () => {
  const { page, troubles, close } = await open(browser, sample("pace.html", top()), { viewport: { width: 700, height: 500 } });
  const { drawn, offered } = await page.evaluate(() => new Promise((resolve) => {
    const { scene, clock } = window.kreisel;
    clock.setSpeed(0.001); // does not end meanwhile
    clock.play();
    const begin = scene.renderer.info.render.frame;
    let offered = 0;
    const count = () => {
      if (++offered < 20) requestAnimationFrame(count);
      else resolve({ offered, drawn: scene.renderer.info.render.frame - begin });
    };
    requestAnimationFrame(count);
  }));
  assert.ok(Math.abs(drawn - offered) <= 2, `${drawn} pictures in ${offered} of the browser`);
  await page.evaluate(() => {
    const { scene, clock } = window.kreisel;
    scene.pace.level = 3;
    clock.set(clock.t); // draws
    clock.pause();
  });
  await page.waitForFunction(() => window.kreisel.scene.canvas.width < 0.6 * window.kreisel.scene.element.clientWidth);
  await page.waitForFunction(() => window.kreisel.scene.canvas.width === window.kreisel.scene.element.clientWidth);
  // Pictures of a film are drawn once each.
  const film = await page.evaluate(async () => {
    const { scene } = window.kreisel;
    const begin = scene.renderer.info.render.frame;
    const sizes = [];
    for (let i = 0; i < 5; ++i) {
      sizes.push(scene.pictureAt(0.1 * i, 320, 240).width);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }
    const drawn = scene.renderer.info.render.frame - begin;
    scene.restoreSize();
    return { drawn, sizes, width: scene.canvas.width - scene.element.clientWidth };
  });
  assert.deepEqual(film, { drawn: 5, sizes: [320, 320, 320, 320, 320], width: 0 });
  assert.deepEqual(troubles, []);
  await close();
});

// -- screens

const studyPage = sample("a-study.html", study());
const ensemblePage = sample("an-ensemble.html", ensemble());
const screens = { desk: { width: 1280, height: 800 }, wall: { width: 1920, height: 1080 }, phone: { width: 390, height: 844 } };
const pictures = join(process.env.KREISEL_WORK ?? work, "screens");
mkdirSync(pictures, { recursive: true });

/** Controls that Tab does not reach, and those on which nobody sees that they were reached. */
async function keyboardFlaws(page) {
  await page.evaluate(() => {
    document.activeElement?.blur();
    scrollTo(0, 0);
    window.wanted = Array.from(document.querySelectorAll("button, select, summary, input, a[href], .chart[tabindex], canvas[tabindex]"))
      .filter((e) => e.checkVisibility() && e.getClientRects().length > 0 && !e.disabled && e.tabIndex >= 0);
    window.reached = new Set();
    window.dull = [];
  });
  const count = await page.evaluate(() => window.wanted.length);
  for (let i = 0; i < count + 5; ++i) {
    await page.keyboard.press("Tab");
    await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return;
      window.reached.add(e);
      const { outlineStyle, outlineWidth } = getComputedStyle(e);
      if (outlineStyle === "none" || parseFloat(outlineWidth) < 1) window.dull.push(e.outerHTML.slice(0, 80));
    });
  }
  return page.evaluate(() => ({ missed: window.wanted.filter((e) => !window.reached.has(e)).map((e) => e.outerHTML.slice(0, 80)), dull: window.dull }));
}

for (const [screen, viewport] of Object.entries(screens))
  for (const colorScheme of ["light", "dark"])
    test(`on a ${screen} in ${colorScheme} nothing sticks out, text is legible and buttons can be hit`, async () => {
      for (const [name, file] of Object.entries({ machine, study: studyPage, ensemble: ensemblePage })) {
        const { page, troubles, close } = await open(browser, file, { viewport, colorScheme });
        await settle(page);
        if (name === "machine") {
          await page.evaluate(() => window.kreisel.panels.addPlot(window.kreisel.panels.choices[0].key, [window.kreisel.panels.choices[1].key]));
          await page.locator(".panel .menu summary").first().click();
          await settle(page);
        }
        await page.screenshot({ path: join(pictures, `${name}-${screen}-${colorScheme}.png`) });
        assert.deepEqual(await page.evaluate(flaws), flawless, `${name}: 24 px (WCAG 2.5.8), contrast of 4.5 (1.4.3) and 3 (1.4.11), names, plots in words`);
        if (name === "machine") {
          await page.keyboard.press("Escape");
          await page.getByRole("button", { name: "new plot" }).click();
          assert.deepEqual(await page.evaluate(flaws), flawless, "the dialog of plots");
        }
        assert.deepEqual(troubles, []);
        await close();
      }
    });

test("Tab reaches every control, and one sees where it is", async () => {
  for (const [name, file] of Object.entries({ machine, study: studyPage, ensemble: ensemblePage })) {
    const { page, close } = await open(browser, file);
    await settle(page);
    assert.deepEqual(await keyboardFlaws(page), { missed: [], dull: [] }, name);
    await close();
  }
});

test("everything is reached by the keyboard", async () => {
  const { page, close } = await open(browser, machine);
  const range = () => page.evaluate(() => window.kreisel.panels.window.range);
  await page.keyboard.press("[");
  const [from, to] = await range();
  assert.ok(to - from < 0.3);
  await page.keyboard.press(".");
  assert.ok((await range())[0] > from);
  await page.keyboard.press("z");
  const names = new Set();
  for (let i = 0; i < 60; ++i) {
    await page.keyboard.press("Tab");
    names.add(await page.evaluate(() => document.activeElement.className || document.activeElement.tagName));
  }
  for (const wanted of ["chart", "legend-entry", "play"]) assert.ok(names.has(wanted), `${wanted} is not among ${[...names]}`);
  await close();
});
