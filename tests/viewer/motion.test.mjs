// Motion that leaves the page: glTF, films, pictures, text; and runs that are watched.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { flawless, flaws, fromViewer, heavyTop, kreisel, launch, open, pageOf, program, work } from "./support.mjs";

const browser = await launch();
after(() => browser.close());
const folder = heavyTop("motion", "--step", "0.002", "--t-end", "0.5");

test("glTF files pass Khronos' validator without a complaint", async () => {
  const validator = fromViewer("gltf-validator");
  const machine = join(work, "governor");
  kreisel("run", "flyball-governor", "--out", machine, "--quiet", "--t-end", "0.3");
  for (const result of [folder, machine]) {
    const file = `${result}.glb`;
    kreisel("view", result, "--glb", file);
    const report = await validator.validateBytes(new Uint8Array(readFileSync(file)));
    const { numErrors, numWarnings, numInfos } = report.issues;
    assert.deepEqual({ numErrors, numWarnings, numInfos }, { numErrors: 0, numWarnings: 0, numInfos: 0 }, JSON.stringify(report.issues.messages.slice(0, 3)));
    assert.equal(report.info.animationCount, 1);
    assert.ok(report.info.totalTriangleCount > 20);
    assert.ok(statSync(file).size < 2_000_000);
  }
});

/** Seconds and size of a film, and how different its first and middle pictures are, in a player. */
async function played(bytes) {
  const page = await browser.newPage();
  const seen = await page.evaluate(async (base64) => {
    const video = document.createElement("video");
    video.muted = true;
    video.src = URL.createObjectURL(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], { type: "video/webm" }));
    await new Promise((resolve, reject) => {
      video.onloadeddata = resolve;
      video.onerror = () => reject(new Error(video.error.message));
    });
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
    const pen = canvas.getContext("2d");
    const picture = async (t) => {
      video.currentTime = t;
      await new Promise((resolve) => (video.onseeked = resolve));
      pen.drawImage(video, 0, 0);
      return pen.getImageData(0, 0, canvas.width, canvas.height).data;
    };
    const [a, b] = [await picture(0), await picture(0.55 * video.duration)];
    let moved = 0;
    for (let i = 0; i < a.length; i += 4) if (Math.abs(a[i] - b[i]) + Math.abs(a[i + 2] - b[i + 2]) > 60) ++moved;
    return { seconds: video.duration, size: [video.videoWidth, video.videoHeight], moved };
  }, Buffer.from(bytes).toString("base64"));
  await page.close();
  return seen;
}

test("a film is made without a window, picture by picture", async () => {
  const file = join(work, "top.webm");
  kreisel("view", folder, "--video", file, "--size", "320x240", "--seconds", "1", "--rate", "10");
  const { seconds, size, moved } = await played(readFileSync(file));
  assert.ok(Math.abs(seconds - 1) < 0.05, `${seconds} s`);
  assert.deepEqual(size, [320, 240]);
  assert.ok(moved > 100, `${moved} pixels differ`);
});

test("a picture is made without a window, of the time that was asked for", () => {
  const [a, b] = [join(work, "a.png"), join(work, "b.png")];
  kreisel("view", folder, "--png", a, "--size", "320x240");
  kreisel("view", folder, "--png", b, "--size", "320x240", "--at", "0.4");
  const [first, second] = [readFileSync(a), readFileSync(b)];
  assert.equal(first.readUInt32BE(16), 320);
  assert.equal(first.readUInt32BE(20), 240);
  assert.notDeepEqual(first, second);
});

test("the record button saves a film of the whole run", async () => {
  const { page, troubles, close } = await open(browser, pageOf(folder), { viewport: { width: 700, height: 500 } });
  await page.evaluate(() => window.kreisel.clock.setSpeed(1));
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "record" }).click()]);
  assert.equal(download.suggestedFilename(), "heavy-top.webm");
  const { seconds, moved } = await played(readFileSync(await download.path()));
  assert.ok(Math.abs(seconds - 0.5) < 0.05, `${seconds} s`);
  assert.ok(moved > 100);
  assert.deepEqual(troubles, []);
  await close();
});

test("terminals get curves as text", () => {
  const text = kreisel("view", folder, "--terminal", "--columns", "z,top.v4");
  assert.match(text, /top\.z \[m\]/);
  assert.match(text, /top\.wx \[rad\/s\]/, "columns are found by the names of the file, too");
  assert.match(text, /[\u2801-\u28ff]{5}/u);
  const wrong = spawnSync(program, ["view", folder, "--terminal", "--columns", "lambda33"], { encoding: "utf8" });
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /unknown column 'lambda33', did you mean 'tip\.lambda3'|unknown column 'lambda33'/);
});

test("nonsense is refused before a browser starts", () => {
  for (const words of [["--png", "x.png", "--size", "7"], ["--video", "x.webm", "--seconds", "0"], ["--columns", "z"], ["--glb", work]]) {
    const done = spawnSync(program, ["view", folder, ...words], { encoding: "utf8" });
    assert.equal(done.status, 2, `${words}: ${done.stderr}`);
  }
  const none = spawnSync(program, ["view", folder, "--png", join(work, "x.png")], { encoding: "utf8", env: { ...process.env, PATH: "/nowhere", CHROMIUM: "" } });
  assert.equal(none.status, 4);
  assert.match(none.stderr, /needs chromium/);
});

/** A program that serves, its address, and its end. */
async function serving(words, use) {
  const child = spawn(program, [...words, "--no-browser"], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
  try {
    const line = await new Promise((resolve) => child.stdout.once("data", (data) => resolve(String(data))));
    await use(/http:\S+/.exec(line)[0]);
  } finally {
    child.kill("SIGINT");
  }
  return ended;
}

test("where the reader zooms in, the local server gives the points that the page left out", async () => {
  const long = heavyTop("long", "--step", "0.0001", "--t-end", "1", "--format", "csv");
  await serving(["view", long], async (address) => {
    const { page, troubles, close } = await open(browser, address);
    const points = () => page.evaluate(() => window.kreisel.panels.panelNamed("Position").lines[0].curve.y.length);
    const thinned = await points();
    assert.ok(thinned <= 4000);
    await page.evaluate(() => window.kreisel.panels.window.show([0.5, 0.51]));
    await page.waitForFunction(() => {
      const { t } = window.kreisel.panels.panelNamed("Position").lines[0].curve;
      return t.length < 200 && t[1] - t[0] < 1.5e-4;
    });
    assert.ok((await points()) >= 101);
    const bare = await fetch(address.replace(/\?.*/, "series?column=1&from=0&to=1&points=10"));
    assert.equal(bare.status, 404, "not without the token");
    assert.deepEqual(troubles, []);
    await close();
  });
});

test("a long result is read in pieces: no values in the page, true extremes in the plots, all points where one looks", async () => {
  const long = join(work, "long-chain");
  kreisel("run", "chain", "--set", "n=3", "--t-end", "0.7", "--output-step", "1e-5", "--format", "hdf5", "--out", long, "--quiet");
  assert.ok(statSync(join(long, "trajectory.h5")).size > 64e6);
  await serving(["view", long], async (address) => {
    const { page, troubles, close } = await open(browser, address);
    assert.ok((await (await fetch(address)).text()).length < 1_500_000, "no values of columns in the page");
    const shown = () => page.evaluate(() => {
      const line = window.kreisel.panels.panelNamed("Position").lines[2];
      return { column: line.series.column, range: line.series.range, t: Array.from(line.curve.t), y: Array.from(line.curve.y) };
    });
    await page.waitForFunction(() => window.kreisel.panels.panelNamed("Position").lines[2].curve.y.length > 400);
    const { column, range, t, y } = await shown();
    // Every row, in stretches that are short enough to come in full.
    const { origin, searchParams } = new URL(address);
    const rows = new Map();
    for (let from = 0; from < 0.7; from += 0.01) {
      const query = new URLSearchParams({ token: searchParams.get("token"), column, result: 0, from, to: from + 0.01, points: 2000 });
      const pairs = new Float64Array(await (await fetch(`${origin}/series?${query}`)).arrayBuffer());
      for (let i = 0; i < pairs.length; i += 2) rows.set(pairs[i], pairs[i + 1]);
    }
    assert.equal(rows.size, 70_001);
    t.forEach((time, i) => assert.equal(y[i], rows.get(time), `at ${time}`));
    const values = [...rows.values()];
    const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
    assert.deepEqual([Math.min(...y), Math.max(...y)], [low, high]);
    assert.ok(Math.abs(range[1] - low) < 1e-6 && Math.abs(range[2] - high) < 1e-6, `${range}`);
    await page.evaluate(() => window.kreisel.panels.window.show([0.5, 0.501]));
    await page.waitForFunction(() => {
      const { t: near } = window.kreisel.panels.panelNamed("Position").lines[2].curve;
      return near.length > 100 && near.length < 110 && near[1] - near[0] < 1.5e-5;
    });
    assert.deepEqual(troubles, []);
    await close();
  });
});

test("each of two results brings its own points where the reader zooms in", async () => {
  const other = heavyTop("other", "--step", "0.0001", "--t-end", "1", "--format", "csv", "--set", "gravity=3");
  const first = heavyTop("first", "--step", "0.0001", "--t-end", "1", "--format", "csv");
  await serving(["view", first, other], async (address) => {
    const { page, troubles, close } = await open(browser, address);
    await page.evaluate(() => window.kreisel.panels.window.show([0.9, 0.91]));
    await page.waitForFunction(() => window.kreisel.panels.panelNamed("Position").lines.every(({ curve: { t } }) => t.length > 90 && t.length < 200));
    const apart = await page.evaluate(() => {
      const lines = window.kreisel.panels.panelNamed("Position").lines.filter((line) => line.label === "z");
      return Math.abs(lines[0].curve.y[50] - lines[1].curve.y[50]);
    });
    assert.ok(apart > 1e-4, `${apart} m apart`);
    assert.deepEqual(troubles, []);
    await close();
  });
});

test("a run is watched while it goes on; parameters run it anew, inputs steer it", async () => {
  const end = await serving(["run", "excavator", "--watch", "--out", join(work, "watched"), "--t-end", "2"], async (address) => {
    const { page, troubles, close } = await open(browser, address);
    await page.waitForFunction(() => /success/.test(document.querySelector(".live-state").textContent), null, { timeout: 60_000 });
    const end = () => page.evaluate(() => {
      const { t } = window.kreisel.panels.results[0].series.find((s) => s.panel === "Position");
      return t[t.length - 1];
    });
    await page.waitForFunction(() => window.kreisel.panels.window.whole[1] === 2);
    assert.equal(await end(), 2);
    const last = () => page.evaluate(() => {
      const { y } = window.kreisel.panels.results[0].series.find((s) => s.panel === "boom_angle");
      return y[y.length - 1];
    });
    const before = await last();
    await page.getByLabel("Q, as a number").fill("0.001");
    await page.keyboard.press("Enter");
    await page.waitForFunction((old) => {
      const { y } = window.kreisel.panels.results[0].series.find((s) => s.panel === "boom_angle");
      return window.kreisel.panels.window.whole[1] === 2 && Math.abs(y[y.length - 1] - old) > 1e-3;
    }, before, { timeout: 60_000 });
    assert.equal(JSON.parse(readFileSync(join(work, "watched", "summary.json"), "utf8")).status, "success");

    // A refused change is told until one is accepted: several requests for news later too.
    const trouble = page.locator(".live-trouble");
    assert.ok(await trouble.isHidden());
    await page.getByLabel("Q, as a number").fill("-1");
    await page.keyboard.press("Enter");
    await trouble.waitFor();
    await page.waitForTimeout(1000);
    assert.match(await trouble.textContent(), /Q stays as it was: .*-1/);
    const lever = await page.getByLabel("boom_lever", { exact: true }).evaluate(({ min, max, value }) => [min, max, value].map(Number));
    assert.ok(lever[0] < lever[2] && lever[2] < lever[1], `a lever at rest moves both ways: ${lever}`);
    for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
      await page.setViewportSize(viewport);
      await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth); // plots follow the size in later frames
      assert.deepEqual(await page.evaluate(flaws), flawless, JSON.stringify(viewport));
    }

    const { origin, search } = new URL(address);
    const post = (path, body, query = search) => fetch(`${origin}${path}${query}`, { method: "POST", body });
    assert.equal((await post("/set-input", '{"name": "boom_lever", "value": 1}', "?token=1234")).status, 403);
    assert.equal((await post("/set-input", '{"name": "lever", "value": 1}')).status, 400);
    assert.equal((await post("/set-parameter", '{"name": "Q", "value": -1}')).status, 400);
    assert.equal((await post("/set-parameter", "nonsense")).status, 400);
    assert.equal((await fetch(`${origin}/`)).status, 403, "the page itself wants the token");
    assert.equal((await post("/set-input", '{"name": "boom_lever", "value": 1}')).status, 200);
    await page.waitForFunction(() => {
      const { t } = window.kreisel.panels.results[0].series.find((s) => s.panel === "boom_angle");
      return t[t.length - 1] > 0.2 && t[t.length - 1] < 2;
    }, null, { timeout: 60_000 });
    assert.deepEqual(troubles.filter((text) => !/status of 400/.test(text)), []); // the change that was refused
    await close();
  });
  assert.ok(end === 0 || end === 130, `exit code ${end}`);
});
