// Sizes and times of the page in chromium: node bench/page.mjs PROGRAM WORK -> JSON
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [program, work] = process.argv.slice(2);
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
await browser.close();
console.log(JSON.stringify({ script, first_paint: Math.min(...paints) / 1000, heavy_top: statSync(top).size, excavator: statSync(largest).size }));
