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
