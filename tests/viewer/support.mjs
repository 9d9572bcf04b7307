// What the tests of the viewer share: the program, a browser, pages that must stay silent.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const viewerFolder = join(dirname(fileURLToPath(import.meta.url)), "../../viewer");
export const fromViewer = createRequire(join(viewerFolder, "package.json"));
export const program = process.env.KREISEL_PROGRAM;
export const work = mkdtempSync(join(process.env.KREISEL_WORK ?? tmpdir(), "viewer-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

/** What ctest takes for "skipped". */
export function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(77);
}

export function kreisel(...words) {
  const done = spawnSync(program, words, { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`kreisel ${words.join(" ")}: exit ${done.status}\n${done.stderr}`);
  return done.stdout;
}

/** The result folder of a heavy-top run. */
export function heavyTop(name, ...options) {
  const folder = join(work, name);
  kreisel("run", "heavy-top", "--out", folder, "--quiet", ...options);
  return folder;
}

export function pageOf(folder, ...options) {
  const file = `${folder}.html`;
  kreisel("view", folder, "--html", file, ...options);
  return file;
}

export function writeResult(name, files) {
  const folder = join(work, name);
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

function chromiumPath() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? "").split(":");
  for (const name of ["chromium", "chromium-browser", "google-chrome", "chrome"])
    for (const folder of folders) if (existsSync(join(folder, name))) return join(folder, name);
  return null;
}

export async function launch(...more) {
  const executablePath = chromiumPath();
  if (!executablePath) skip("no chromium; 'tools/setup viewer-test' installs it");
  const { chromium } = fromViewer("playwright-core");
  // playwright gives every launch an empty user-data-dir of its own.
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
      "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", ...more,
    ],
  });
}

/** Driver chatter about reading pixels back is no message of the page. */
const chatter = /GL Driver Message|GPU stall/;

/** A page with everything that went wrong on it, and every address it asked for. */
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const troubles = [];
  const addresses = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !chatter.test(message.text())) troubles.push(message.text());
  });
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => addresses.push(request.url()));
  await page.goto(/^https?:/.test(file) ? file : pathToFileURL(file).href);
  await page.waitForFunction(() => "kreisel" in window || document.querySelector(".fatal"));
  return { page, troubles, addresses, close: () => context.close() };
}

/** What is too small, too faint, without a name, or sticks out of the page; runs in the page. */
export function flaws() {
  const small = Array.from(document.querySelectorAll("button, select, summary, input"))
    .map((e) => ({ text: e.textContent || e.ariaLabel, box: e.getBoundingClientRect() }))
    .filter(({ box }) => box.width > 0 && (box.height < 23.9 || box.width < 23.9)).map(({ text, box }) => `${text}: ${box.width} x ${box.height}`);
  const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (c, d) => {
    const [a, b] = [luminance(c), luminance(d)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const paper = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  /** Colours of any notation, as the browser draws them. */
  const drawn = (color) => {
    const pen = document.createElement("canvas").getContext("2d");
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    return Array.from(pen.getImageData(0, 0, 1, 1).data);
  };
  const faint = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim() !== "");
    if (!own || e.closest(".u-wrap") || e.getClientRects().length === 0 || e.closest('[aria-pressed="false"].legend-entry')) continue;
    const ratio = contrast(drawn(getComputedStyle(e).color), paper(e));
    if (ratio < 4.5) faint.push(`${e.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  const style = getComputedStyle(document.documentElement);
  const pale = [];
  for (const name of ["accent", "slope", "force", ...Array.from({ length: 9 }, (_, i) => `series-${i + 1}`)]) {
    const ratio = contrast(drawn(style.getPropertyValue(`--${name}`).trim()), drawn(style.getPropertyValue("--surface").trim()));
    if (ratio < 3) pale.push(`${name}: ${ratio.toFixed(2)}`);
  }
  const mute = Array.from(document.querySelectorAll(".chart, canvas[tabindex], button, select, input"))
    .filter((e) => e.getClientRects().length > 0 && !(e.ariaLabel || e.textContent.trim() || e.title || e.labels?.length)).map((e) => e.outerHTML.slice(0, 80));
  const undescribed = Array.from(document.querySelectorAll(".chart")).filter((e) => e.getClientRects().length > 0 && !(e.getAttribute("role") === "img" && e.ariaLabel)).map((e) => e.outerHTML.slice(0, 80));
  return { small, faint, pale, mute, undescribed, sticksOut: document.documentElement.scrollWidth > innerWidth };
}
export const flawless = { small: [], faint: [], pale: [], mute: [], undescribed: [], sticksOut: false };
