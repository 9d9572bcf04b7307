// Sizes and times of the page in chromium: node bench/page.mjs PROGRAM WORK -> JSON
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [program, work] = process.argv.slice(2);
/** A result of yesterday is on the disk, not in the memory of the system. */
const dropFromMemory = (file) => spawnSync("dd", [`of=${file}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"], { stdio: "ignore" });
const { chromium } = createRequire(join(dirname(fileURLToPath(import.meta.url)), "../viewer/package.json"))("playwright-core");
mkdirSync(work, { recursive: true });
const run = (...words) => {
  const done = spawnSync(program, words, { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
};
const page = (model, ...options) => {
  const folder = join(work, model);
  run("run", model, "--out", folder, "--quiet", ...options);
  run("view", folder, "--html", `${folder}.html`);
  return `${folder}.html`;
};
const top = page("heavy-top");
const largest = page("excavator");
const { pageWith, stewartPlatform } = await import(pathToFileURL(join(dirname(fileURLToPath(import.meta.url)), "../viewer/sample.mjs")).href);
writeFileSync(join(work, "stewart.json"), JSON.stringify(stewartPlatform()));
run("run", join(work, "stewart.json"), "--out", join(work, "stewart"), "--quiet");
run("view", join(work, "stewart"), "--html", join(work, "stewart.html"));
const script = /<script type="module">([^]*?)<\/script>/.exec(readFileSync(top, "utf8"))[1].length;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
});
const paints = [];
for (let i = 0; i < 3; ++i) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const tab = await context.newPage();
  await tab.goto(pathToFileURL(top).href);
  await tab.waitForFunction(() => "kreisel" in window);
  paints.push(await tab.evaluate(() => new Promise((resolve) => {
    const look = () => {
      const entry = performance.getEntriesByName("first-contentful-paint")[0];
      if (entry) resolve(entry.startTime);
      else setTimeout(look, 20);
    };
    look();
  })));
  await context.close();
}

// -- 10,000 bodies: the cost of a picture, drawn by the processor, and without the drawing
const poses = Array.from({ length: 4 }, (_, i) => [Math.cos(i), -Math.sin(i), 0, Math.sin(i), Math.cos(i), 0, 0, 0, 1]);
const many = {
  format: 1, title: "10,000 bodies", summary: {}, time: [0, 0.1, 0.2, 0.3], series: [],
  bodies: Array.from({ length: 10_000 }, (_, k) => ({
    name: `b${k}`, shape: { box: { size: [0.3, 0.3, 0.3] } }, x: poses.map((_, i) => [k % 100, Math.floor(k / 100), Math.sin(i + k)]), R: poses,
  })),
};
const empty = readFileSync(top, "utf8").replace(/(<script type="application\/json" id="kreisel-data">)[^]*?(<\/script>)/, "$1null$2");
writeFileSync(join(work, "many.html"), pageWith(many, empty));
const crowd = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await crowd.goto(pathToFileURL(join(work, "many.html")).href);
await crowd.waitForFunction(() => "kreisel" in window);
const pictures = await crowd.evaluate(() => {
  const { scene, clock } = window.kreisel;
  const context = scene.renderer.getContext();
  const pixel = new Uint8Array(4);
  const times = { page: Infinity, drawing: Infinity };
  for (let i = 0; i < 10; ++i) {
    clock.set(clock.begin + (i / 10) * (clock.end - clock.begin));
    const begin = performance.now();
    scene.render();
    const given = performance.now();
    context.readPixels(0, 0, 1, 1, context.RGBA, context.UNSIGNED_BYTE, pixel); // waits for the drawing
    times.page = Math.min(times.page, given - begin);
    times.drawing = Math.min(times.drawing, performance.now() - given);
  }
  return { ...times, calls: scene.renderer.info.render.calls };
});
/** Pictures per second of the animation of the page. */
const rate = await crowd.evaluate(() => new Promise((resolve) => {
  const { scene, clock } = window.kreisel;
  clock.set(clock.begin);
  clock.setSpeed(0.02);
  clock.play();
  let [begin, from, level] = [0, 0, 0];
  const end = (at) => {
    if (begin === 0 && scene.renderer.info.render.frame > 40) [begin, from] = [at, scene.renderer.info.render.frame]; // the detail is found
    level = Math.max(level, scene.pace.level);
    if (begin > 0 && at - begin > 3000) resolve({ rate: (1000 * (scene.renderer.info.render.frame - from)) / (at - begin), level });
    else requestAnimationFrame(end);
  };
  requestAnimationFrame(end);
}));
await crowd.close();

// -- a million points of a thousand columns: from the start of the program to curves on the screen
const long = join(work, "long");
if (!existsSync(join(long, "trajectory.h5")))
  run("run", "chain", "--set", "n=20", "--t-end", "10", "--output-step", "1e-5", "--format", "hdf5", "--out", long, "--quiet");
dropFromMemory(join(long, "trajectory.h5"));
const begin = performance.timeOrigin + performance.now(); // the clock that the page has too
const server = spawn(program, ["view", long, "--no-browser"], { stdio: ["ignore", "pipe", "inherit"] });
const address = /http:\S+/.exec(await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data)))))[0];
const reader = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await reader.goto(address);
await reader.waitForFunction(() => "kreisel" in window);
const long_picture = (performance.timeOrigin + performance.now() - begin) / 1000;
const shown = await reader.evaluate(() => ({
  at: performance.timeOrigin + performance.getEntriesByName("plots shown")[0].startTime,
  text: document.querySelector('[data-panel="Position"] .chart').getAttribute("aria-label"),
}));
if (!/ z from \S+ to /.test(shown.text)) throw new Error(`the plot has no curves: ${shown.text}`);
const long_open = (shown.at - begin) / 1000;
const heap = await (await reader.context().newCDPSession(reader)).send("Runtime.getHeapUsage");
const { points, columns } = await reader.evaluate(() => ({ points: window.kreisel.result.points, columns: window.kreisel.result.series.length }));
const memory = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) / 1000;
server.kill("SIGINT");
await browser.close();
console.log(JSON.stringify({
  script, first_paint: Math.min(...paints) / 1000, heavy_top: statSync(top).size, excavator: statSync(largest).size, stewart: statSync(join(work, "stewart.html")).size,
  many_page: pictures.page, many_drawing: pictures.drawing, many_calls: pictures.calls, many_rate: rate.rate, many_level: rate.level,
  long_open, long_picture, long_points: points, long_columns: columns, long_bytes: statSync(join(long, "trajectory.h5")).size, long_memory: memory, long_heap: heap.usedSize / 1e6,
}));
