// The page in a real browser.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { pathToFileURL } from "node:url";
import { heavyTop, kreisel, launch, open, pageOf, viewerFolder, work, writeResult } from "./support.mjs";

const browser = await launch();
after(() => browser.close());
const { ensemble, pageWith, study, top } = await import(pathToFileURL(join(viewerFolder, "sample.mjs")).href);
const emptyPage = readFileSync(process.env.KREISEL_VIEWER_PAGE, "utf8");

const folder = heavyTop("top", "--step", "0.002", "--t-end", "1");
const file = pageOf(folder);
const rows = JSON.parse(readFileSync(join(folder, "summary.json"), "utf8")).output.rows;

function sample(name, data) {
  const path = join(work, name);
  writeFileSync(path, pageWith(data, emptyPage));
  return path;
}

/** The picture of the animation at a time, once it is drawn. */
async function pictureAt(page, t) {
  await page.evaluate((time) => window.kreisel.clock.set(time), t);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await page.waitForFunction(() => window.kreisel.scene.isDetailed);
  return page.locator(".scene canvas").screenshot();
}

/** Centre of the plot of a panel, and a point beside it. */
async function placeIn(page, panel, fraction) {
  const over = page.locator(`[data-panel="${panel}"] .u-over`);
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  return { x: box.x + fraction * box.width, y: box.y + box.height / 2 };
}

test("a heavy-top run is shown with all its points, and in silence", async () => {
  const { page, troubles, addresses, close } = await open(browser, file);
  assert.equal(await page.locator("h1").textContent(), "heavy-top");
  assert.equal(await page.title(), "heavy-top – kreisel");
  assert.equal(await page.locator(".status").textContent(), "success");
  assert.match(await page.locator(".command code").textContent(), /kreisel run heavy-top --out .*top --quiet --step 0.002/);
  const counts = await page.evaluate(() => window.kreisel.panels.pointCounts);
  for (const [panel, names] of Object.entries({
    Position: ["x", "y", "z"],
    "Velocity, inertial frame": ["vx", "vy", "vz"],
    "Angular velocity, body frame": ["wx", "wy", "wz"],
    "Multipliers λ": ["lambda1", "lambda2", "lambda3"],
    "Constraints Φ": ["Phi1", "Phi2", "Phi3"],
    "Energy change": ["energy - energy(0)"],
    "Step size": ["h"],
  }))
    assert.deepEqual(counts[panel], Object.fromEntries(names.map((name) => [name, rows])), panel);
  assert.equal(rows, 501);
  const drawn = page.locator("details.panel[open]");
  for (const panel of await drawn.all()) {
    await panel.scrollIntoViewIfNeeded();
    await panel.locator("canvas").waitFor();
  }
  assert.equal(await drawn.count(), 9);
  assert.match(await page.locator(".facts").textContent(), /methodbliedf/);
  assert.deepEqual(addresses, [pathToFileURL(file).href], "the page asks for nothing");
  assert.deepEqual(troubles, []);
  await close();
});

test("text and plots are shown before the 3D picture is begun", async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.begun = [];
    const get = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
      window.begun.push([kind, performance.now()]);
      return get.call(this, kind, ...more);
    };
  });
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => "kreisel" in window && performance.getEntriesByName("first-contentful-paint").length > 0);
  const { begun, paint } = await page.evaluate(() => ({ begun: window.begun, paint: performance.getEntriesByName("first-contentful-paint")[0].startTime }));
  const first = (word) => Math.min(...begun.filter(([kind]) => kind.startsWith(word)).map(([, at]) => at));
  assert.ok(first("2d") < first("webgl"), JSON.stringify(begun));
  assert.ok(paint < first("webgl"), `painted at ${paint}: ${JSON.stringify(begun)}`);
  await context.close();
});

test("the plots show ink where curves are", async () => {
  const { page, close } = await open(browser, file);
  const colours = await page.locator('[data-panel="Position"] canvas').evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Map();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) {
      const key = [data[i], data[i + 1], data[i + 2]].join();
      seen.set(key, (seen.get(key) ?? 0) + 1);
    }
    return [...seen].filter(([, n]) => n > 100).map(([key]) => key);
  });
  for (const curve of ["31,111,184", "210,105,30", "43,138,87"]) assert.ok(colours.includes(curve), `${curve} is not among ${colours}`);
  await close();
});

test("the animation moves with the clock, and by itself when played", async () => {
  const { page, troubles, close } = await open(browser, file);
  const [first, second, again] = [await pictureAt(page, 0.1), await pictureAt(page, 0.6), await pictureAt(page, 0.1)];
  assert.notDeepEqual(first, second);
  assert.deepEqual(first, again, "the same time gives the same picture");
  await page.evaluate(() => {
    window.kreisel.clock.set(0);
    window.kreisel.clock.setSpeed(0.02); // on a busy machine the run must not end before the button is pressed
  });
  await page.getByRole("button", { name: "play" }).click();
  await page.waitForFunction(() => window.kreisel.clock.t > 0.02);
  await page.getByRole("button", { name: "pause" }).click();
  const halted = await page.evaluate(() => window.kreisel.clock.t);
  await page.waitForTimeout(100);
  assert.equal(await page.evaluate(() => window.kreisel.clock.t), halted);
  assert.deepEqual(troubles, []);
  await close();
});

test("trails, forces and the camera change the picture", async () => {
  const { page, close } = await open(browser, file);
  const plain = await pictureAt(page, 0.5);
  for (const name of ["trails", "forces"]) {
    await page.getByRole("button", { name, exact: true }).click();
    assert.notDeepEqual(await pictureAt(page, 0.5), plain, name);
    await page.getByRole("button", { name, exact: true }).click();
  }
  await page.locator("body").press("d");
  assert.notDeepEqual(await pictureAt(page, 0.5), plain);
  await page.locator("body").press("c");
  assert.deepEqual(await pictureAt(page, 0.5), plain);
  await close();
});

test("the keys move the time", async () => {
  const { page, close } = await open(browser, file);
  const time = () => page.evaluate(() => window.kreisel.clock.t);
  const press = (key) => page.keyboard.press(key);
  await press("ArrowRight");
  assert.ok(Math.abs((await time()) - 0.002) < 1e-9);
  await press("Shift+ArrowRight");
  assert.ok(Math.abs((await time()) - 0.022) < 1e-9);
  await press("ArrowLeft");
  assert.ok(Math.abs((await time()) - 0.02) < 1e-9);
  await press("End");
  assert.equal(await time(), 1);
  await press("Home");
  assert.equal(await time(), 0);
  await press(" ");
  assert.equal(await page.evaluate(() => window.kreisel.clock.playing), true);
  await press(" ");
  assert.equal(await page.evaluate(() => window.kreisel.clock.playing), false);
  await press("?");
  assert.ok(await page.getByRole("dialog").isVisible());
  await press("Escape");
  await press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "BUTTON");
  await close();
});

test("the pointer in a plot shows its time everywhere, a click keeps it", async () => {
  const { page, close } = await open(browser, file);
  const at = await placeIn(page, "Multipliers λ", 0.75);
  await page.mouse.move(at.x, at.y);
  const shown = await page.evaluate(() => window.kreisel.clock.shown);
  assert.ok(Math.abs(shown - 0.75) < 0.01, `shows ${shown}`);
  assert.equal(await page.evaluate(() => window.kreisel.clock.t), 0);
  assert.match(await page.locator(".time").textContent(), /^0\.7/);
  const cursors = await page.locator(".panel .u-cursor-x").evaluateAll((all) => all.filter((c) => getComputedStyle(c).visibility !== "hidden").length);
  assert.ok(cursors >= 2);
  await page.mouse.click(at.x, at.y);
  await page.mouse.move(5, 5);
  assert.ok(Math.abs((await page.evaluate(() => window.kreisel.clock.t)) - 0.75) < 0.01);
  await close();
});

test("dragging zooms all plots, a double click ends it", async () => {
  const { page, close } = await open(browser, file);
  const range = () => page.evaluate(() => window.kreisel.panels.window.range);
  const [from, to] = [await placeIn(page, "Position", 0.25), await placeIn(page, "Position", 0.5)];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 5 });
  await page.mouse.up();
  const [low, high] = await range();
  assert.ok(Math.abs(low - 0.25) < 0.02 && Math.abs(high - 0.5) < 0.02, `${low} to ${high}`);
  await page.mouse.dblclick(to.x, to.y);
  assert.deepEqual(await range(), [0, 1]);
  await close();
});

test("light and dark follow the system until the reader chooses", async () => {
  const { page, troubles, close } = await open(browser, file, { colorScheme: "dark" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  await page.getByRole("button", { name: "light / dark" }).click();
  assert.notEqual(await background(), dark);
  // The browser may write what a page keeps a moment later.
  let isKept = false;
  for (let i = 0; i < 4 && !isKept; ++i) {
    if (i > 0) {
      await page.getByRole("button", { name: "light / dark" }).click();
      await page.waitForTimeout(300);
    }
    await page.reload();
    await page.waitForFunction(() => "kreisel" in window);
    isKept = (await background()) !== dark;
  }
  assert.ok(isKept, "the choice outlives the page");
  assert.deepEqual(troubles, []);
  await close();
});

test("a mechanism has its shapes, its joints by name and arrows that follow them", async () => {
  const result = join(work, "governor");
  kreisel("run", "flyball-governor", "--out", result, "--quiet", "--t-end", "0.5");
  const { page, troubles, close } = await open(browser, pageOf(result));
  const bodies = await page.evaluate(() => window.kreisel.result.bodies.map((b) => b.shapes.flatMap((s) => Object.keys(s))));
  assert.ok(bodies.every((shapes) => shapes.length > 0) && bodies.flat().includes("sphere"), JSON.stringify(bodies));
  assert.match(await page.locator(".scene-caption").textContent(), /longest arrow: \d+ N/);
  const joints = await page.locator('[data-panel="Multipliers λ"] select option').allTextContents();
  assert.ok(joints.includes("bearing"), joints.join());
  const plain = await pictureAt(page, 0.25);
  await page.getByRole("button", { name: "forces", exact: true }).click();
  assert.notDeepEqual(await pictureAt(page, 0.25), plain, "arrows are seen");
  assert.deepEqual(troubles, []);
  await close();
});

test("a second result is laid over the first", async () => {
  const other = pageOf(heavyTop("other", "--step", "0.004", "--t-end", "1"));
  const { page, troubles, close } = await open(browser, file);
  const alone = await pictureAt(page, 0.3);
  await page.locator('input[type="file"]').setInputFiles(other);
  await page.getByText("overlaid, dashed").waitFor();
  const counts = await page.evaluate(() => window.kreisel.panels.pointCounts.Position);
  assert.deepEqual(counts, { x: rows, y: rows, z: rows, "x #2": 251, "y #2": 251, "z #2": 251 });
  assert.notDeepEqual(await pictureAt(page, 0.3), alone);
  await page.locator('input[type="file"]').setInputFiles(join(folder, "summary.json"));
  await page.getByText("cannot be overlaid").waitFor();
  assert.deepEqual(troubles, []);
  await close();
});

test("a second result is laid over in the page that is written", async () => {
  const { page, close } = await open(browser, pageOf(heavyTop("first", "--step", "0.004"), folder));
  const counts = await page.evaluate(() => window.kreisel.panels.pointCounts.Position);
  assert.equal(counts["x #2"], rows);
  await close();
});

test("names that are markup stay text", async () => {
  const evil = '<script>alert(1)</script><img src=x onerror="alert(2)">';
  const name = evil.replace(/"/g, '""');
  const columns = ["x", "y", "z", "R11", "R12", "R13", "R21", "R22", "R23", "R31", "R32", "R33"].map((c) => `"${name}.${c}"`);
  const result = writeResult("evil", {
    "summary.json": JSON.stringify({ model: evil, status: evil, message: evil, warnings: [evil], kreisel: { command: evil }, scene: { joints: [{ name: evil, body: evil, first_row: 1, rows: 3 }] } }),
    "trajectory.csv":
      `# quantity: t,${"q,".repeat(12)}lambda,lambda,lambda\n# element: ,${`"${name}",`.repeat(15).slice(0, -1)}\n` +
      `# component: t,x,y,z,R11,R12,R13,R21,R22,R23,R31,R32,R33,lambda1,lambda2,lambda3\n` +
      `t,${columns.join(",")},lambda1,lambda2,lambda3\n0,0,0,0,1,0,0,0,1,0,0,0,1,1,2,3\n1,1,0,0,1,0,0,0,1,0,0,0,1,1,2,3\n`,
  });
  const { page, troubles, close } = await open(browser, pageOf(result));
  assert.equal(await page.locator("h1").textContent(), evil);
  assert.equal(await page.locator("img").count(), 0);
  for (const summary of await page.locator("details > summary").all()) if (await summary.isVisible()) await summary.click();
  await page.waitForTimeout(200);
  assert.deepEqual(troubles, []);
  await close();
});

test("a study has its curves, slopes and a table that sorts", async () => {
  const { page, troubles, close } = await open(browser, sample("study.html", study()), { colorScheme: "dark" });
  assert.equal(await page.locator(".study canvas").count(), 3);
  assert.deepEqual(await page.evaluate(() => window.kreisel.studies.map((s) => Object.values(s.pointCounts))), Array(3).fill(Array(6).fill(8)));
  const cells = (column) => page.locator(`tbody tr td:nth-child(${column})`).allTextContents();
  const head = page.getByRole("columnheader", { name: "error of q" });
  await head.getByRole("button").click();
  const numbers = (await cells(3)).map((text) => Number(text.replace("−", "-")));
  assert.deepEqual(numbers, [...numbers].sort((a, b) => a - b));
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  await head.getByRole("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  assert.equal(Number((await cells(3))[0].replace("−", "-")), numbers.at(-1));
  const over = page.locator(".study .u-over").first();
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  const [x, y] = await page.evaluate(() => {
    const { plot, lines } = window.kreisel.studies[0];
    return [plot.valToPos(lines[1].curve.x[3], "x"), plot.valToPos(lines[1].curve.y[3], "y")];
  });
  await page.mouse.move(box.x + x + 3, box.y + y + 2);
  assert.equal(await page.locator(".tooltip").first().textContent(), "bliedf 2\nstep h [s]: 6.25e−4\nerror of q: 0.0031641");
  assert.deepEqual(troubles, []);
  await close();
});

test("an ensemble has a heat map, bands and a scatter matrix whose pairs are drawn large", async () => {
  const data = ensemble();
  const { page, troubles, close } = await open(browser, sample("ensemble.html", data), { colorScheme: "light" });
  const [, , heat, matrix] = data.plots;
  // Colours of cells: the smallest is the darkest, the largest is yellow, where the plot says they lie.
  const shades = await page.evaluate(() => {
    const { plot, study } = window.kreisel.studies[2];
    const { x, y, values } = study.cells;
    const known = values.filter((v) => v !== null);
    const { width, height } = plot.ctx.canvas;
    const { data } = plot.ctx.getImageData(0, 0, width, height);
    return [Math.min(...known), Math.max(...known)].map((wanted) => {
      const i = values.indexOf(wanted);
      const [column, line] = [i % (x.length - 1), Math.floor(i / (x.length - 1))];
      const at = (edges, k, axis) => Math.round(plot.valToPos((edges[k] + edges[k + 1]) / 2, axis, true));
      const first = 4 * (at(y, line, "y") * width + at(x, column, "x"));
      return Array.from(data.slice(first, first + 3));
    });
  });
  assert.deepEqual(shades, [[68, 1, 84], [253, 231, 37]]);
  const over = page.locator(".study").nth(2).locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width - 5, box.y + 5);
  const last = Number(heat.cells.values.at(-1).toPrecision(5));
  assert.equal(await page.locator(".study").nth(2).locator(".tooltip").textContent(), `largest force: ${last}\nmass: 0.8333 … 1\nlength: 0.8333 … 1`);
  assert.match(await page.locator(".study").nth(1).textContent(), /Shaded: 5 % to 95 %, 25 % to 75 %; line: 50 %\./);

  const count = matrix.curves.length;
  assert.equal(await page.locator(".matrix button.cell").count(), (count * (count - 1)) / 2);
  assert.equal(await page.locator(".matrix span.cell").count(), count);
  assert.deepEqual(await page.locator(".matrix .correlation").allTextContents(), ["0.01", "0.01", "0.56", "0.01", "0.79", "−0.01"]);
  await page.getByRole("button", { name: "length over mass" }).click();
  const failed = matrix.curves[0].marked.filter(Boolean).length;
  assert.ok(failed > 0);
  assert.equal(await page.locator(".large h3").textContent(), "length over mass");
  assert.deepEqual(await page.locator(".large .legend-entry .name").allTextContents(), ["cases", "failed"]);
  await page.getByRole("button", { name: "largest force over mass" }).click();
  assert.equal(await page.locator(".large .legend").isVisible(), false, "cases that failed have no force");
  assert.deepEqual(troubles, []);
  await close();
});

test("100,000 steps of 50 bodies make a page below 30 MB that opens", async () => {
  const large = join(work, "large.html");
  const made = spawnSync(process.env.KREISEL_SAMPLES, ["large", large], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  assert.ok(statSync(large).size < 30_000_000, `${statSync(large).size} bytes`);
  assert.ok(statSync(large).size > 10_000_000, "room is used");
  const { page, troubles, close } = await open(browser, large);
  assert.equal(await page.evaluate(() => window.kreisel.result.points), 100_001);
  assert.match(await page.locator("footer").textContent(), /100,001 points, thinned/);
  await page.locator('[data-panel="Position"] select[aria-label="of"]').selectOption("link50");
  const largest = await page.evaluate(() => {
    const series = window.kreisel.result.series.find((s) => s.of === "link50" && s.name === "x");
    const at = series.y.indexOf(Math.max(...series.y));
    return [series.t[at], series.y[at]];
  });
  assert.equal(largest[0], 3.1415, "a spike of one sample is kept where it was");
  assert.ok(Math.abs(largest[1] - 12.5) < 1e-6, "curves have single precision");
  assert.equal(await page.locator('[data-panel="Velocity"] select[aria-label="of"]').inputValue(), "link50", "panels follow the choice");
  assert.notDeepEqual(await pictureAt(page, 1), await pictureAt(page, 2));
  assert.deepEqual(troubles, []);
  await close();
});

test("a result without bodies has plots and no picture", async () => {
  const result = writeResult("flat", {
    "summary.json": JSON.stringify({ model: "oscillator", status: "success" }),
    "trajectory.csv": "# quantity: t,q,v,h,order\n# component: t,q1,v1,h,order\nt,q1,v1,h,order\n0,1,0,0.1,1\n0.1,0.9,-1,0.1,2\n0.2,0.7,-2,0.1,2\n",
  });
  const { page, troubles, close } = await open(browser, pageOf(result));
  assert.equal(await page.locator(".scene").count(), 0);
  assert.deepEqual(await page.evaluate(() => window.kreisel.panels.pointCounts.Coordinates), { q1: 3 });
  assert.deepEqual(troubles, []);
  await close();
});

test("results without points, and pages without data, say so", async () => {
  const empty = await open(browser, pageOf(writeResult("empty", { "summary.json": '{"model": "x", "status": "no-consistent-start", "message": "why"}' })));
  assert.match(await empty.page.locator(".remarks").textContent(), /why.*no trajectory/);
  assert.deepEqual(empty.troubles, []);
  await empty.close();
  const blank = await open(browser, process.env.KREISEL_VIEWER_PAGE);
  assert.match(await blank.page.locator(".fatal").textContent(), /no data/);
  await blank.close();
});

test("without WebGL the plots are there", async () => {
  const poor = await launch("--disable-3d-apis");
  const { page, troubles, close } = await open(poor, file);
  assert.match(await page.locator(".scene.none").textContent(), /cannot show 3D pictures/);
  await page.waitForFunction(() => document.querySelectorAll(".panel .uplot").length >= 4);
  assert.deepEqual(troubles, []);
  await close();
  await poor.close();
});

test("the page prints, dark or not", async () => {
  const { page, troubles, close } = await open(browser, file, { colorScheme: "dark" });
  const paper = await page.pdf({ format: "A4" });
  assert.ok(paper.length > 20_000, `${paper.length} bytes`);
  assert.deepEqual(troubles, []);
  await close();
});

test("a narrow screen shows everything below each other", async () => {
  const { page, troubles, close } = await open(browser, sample("narrow.html", top({ steps: 50 })), { viewport: { width: 420, height: 800 } });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
  assert.deepEqual(troubles, []);
  await close();
});
