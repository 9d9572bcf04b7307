// Builds the page into one HTML file, and that file into a C++ unit for the program:
//
//   node build.mjs [--html dist/viewer.html] [--cpp FILE.cpp]
//
// Installs the npm packages first when they are missing or older than package-lock.json; needs no network otherwise.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const folder = dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
  options: { html: { type: "string", default: join(folder, "dist/viewer.html") }, cpp: { type: "string" }, "install-only": { type: "boolean", default: false } },
});

const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function installPackages() {
  const stamp = join(folder, "node_modules/.package-lock.json");
  if (modified(stamp) >= modified(join(folder, "package-lock.json"))) return;
  // Not 'npm ci': a lock file without download addresses lacks the binaries of other platforms, and 'ci' requires them.
  const npm = spawnSync("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (npm.status !== 0) {
    console.error("viewer: 'npm install' failed; is there a network? 'cmake -D KREISEL_VIEWER=OFF' builds without the viewer");
    process.exit(1);
  }
  const now = new Date();
  utimesSync(stamp, now, now);
}

/** A script ends at the first "</script", whatever the context. */
const inScript = (code) => code.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");

/** The licences require that their text is distributed with the code. */
function notices() {
  const texts = ["three", "uplot"].map((name) => `${name}\n\n${readFileSync(join(folder, "node_modules", name, "LICENSE"), "utf8").trim()}`);
  return `<!--\nThis page contains:\n\n${texts.join("\n\n").replace(/--/g, "- -")}\n-->`;
}

async function bundle() {
  const { build } = await import("vite");
  const { output } = await build({
    root: folder,
    configFile: false,
    logLevel: "warn",
    build: {
      write: false,
      target: "es2020",
      cssCodeSplit: false,
      modulePreload: false,
      assetsInlineLimit: Infinity,
      chunkSizeWarningLimit: 2000,
      rollupOptions: { output: { inlineDynamicImports: true } },
    },
  });
  const text = (type) => output.filter((file) => file.fileName.endsWith(type)).map((file) => file.code ?? file.source).join("\n");
  const page = text(".html")
    .replace(/^\s*<script [^>]*src=[^>]*><\/script>\n/gm, "")
    .replace(/^\s*<link [^>]*rel="stylesheet"[^>]*>\n/gm, "")
    .replace("</head>", () => `  <style>${text(".css")}</style>\n  </head>`)
    .replace("</body>", () => `<script type="module">${inScript(text(".js"))}</script>\n  </body>`)
    .replace(/^(<!doctype html>\n)/i, (line) => `${line}${notices()}\n`);
  if (/ (src|href)="(?!data:)/.test(page)) throw new Error("the page refers to another file");
  if (page.split('<script type="application/json" id="kreisel-data">null</script>').length !== 2)
    throw new Error("the page must have exactly one data block");
  return page;
}

/** A string literal in pieces of a few thousand bytes. */
function cppUnit(page) {
  const escaped = (piece) =>
    piece.replace(/[\\"?]/g, "\\$&").replace(/\n/g, "\\n").replace(/[\x00-\x1f\x7f]/g, (c) => "\\" + c.charCodeAt(0).toString(8).padStart(3, "0"));
  const pieces = page.match(/[^]{1,4000}/gu) ?? [];
  return [
    "// Made by viewer/build.mjs.",
    "#include <string_view>",
    "",
    "namespace kreisel::io {",
    "",
    "std::string_view viewer_page();",
    "std::string_view viewer_page() {",
    "  static constexpr char text[] =",
    ...pieces.map((piece) => `      "${escaped(piece)}"`),
    "      ;",
    "  return {text, sizeof text - 1};",
    "}",
    "",
    "}  // namespace kreisel::io",
    "",
  ].join("\n");
}

function write(path, text) {
  mkdirSync(dirname(resolve(path)), { recursive: true });
  writeFileSync(path, text);
}

installPackages();
if (options["install-only"]) process.exit(0);
const page = await bundle();
write(options.html, page);
if (options.cpp) write(options.cpp, cppUnit(page));
