// kreisel view: what it writes, what it serves, and what it does not.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { heavyTop, kreisel, pageOf, program, work, writeResult } from "./support.mjs";

const folder = heavyTop("served", "--step", "0.004");

function refused(...words) {
  const done = spawnSync(program, ["view", ...words], { encoding: "utf8" });
  assert.equal(done.status, 2, `view ${words.join(" ")}`);
  return done.stderr;
}

/** The raw answer to raw bytes: clients tidy paths up before they send them. */
function ask(port, text, host = "127.0.0.1") {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host }, () => socket.end(text));
    let answer = "";
    socket.setEncoding("utf8");
    socket.on("data", (piece) => (answer += piece));
    socket.on("close", () => resolve(answer));
    socket.on("error", reject);
  });
}

async function serving(words, use) {
  const child = spawn(program, ["view", ...words, "--no-browser"], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
  try {
    const line = await new Promise((resolve) => child.stdout.once("data", (data) => resolve(String(data))));
    const port = Number(/http:\/\/127\.0\.0\.1:(\d+)\//.exec(line)[1]);
    const get = (path, { method = "GET", host = `127.0.0.1:${port}` } = {}) =>
      ask(port, `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await use({ port, get });
  } finally {
    child.kill("SIGINT");
  }
  assert.equal(await ended, 0, "Ctrl-C is the ordinary end");
}

test("the page and the files of the folder are served, nothing else", async () => {
  const secret = join(work, "secret.txt");
  writeFileSync(secret, "secret");
  symlinkSync(secret, join(folder, "link.txt"));
  await serving([folder], async ({ port, get }) => {
    assert.match(await get("/"), /^HTTP\/1.1 200 OK\r\nContent-Type: text\/html[^]*<!doctype html>/i);
    assert.match(await get("/summary.json"), /^HTTP\/1.1 200 [^]*"model": "heavy-top"/);
    assert.match(await get("/trajectory.csv?x=1"), /^HTTP\/1.1 200 [^]*lambda1/);
    const head = await get("/", { method: "HEAD" });
    assert.match(head, /Content-Length: \d{5,}\r\n/);
    assert.ok(head.endsWith("\r\n\r\n"), "HEAD has no body");

    for (const path of ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//etc/passwd", "/link.txt", "/nothing", "/.", "/summary.json/..", "/%00", "/%", `/${secret}`])
      assert.match(await get(path), /^HTTP\/1.1 404 /, path);
    assert.match(await get("/", { method: "POST" }), /^HTTP\/1.1 405 /);
    assert.match(await get("/", { host: `evil.example:${port}` }), /^HTTP\/1.1 403 /);
    assert.match(await get("/", { host: `localhost:${port}` }), /^HTTP\/1.1 200 /);
    assert.match(await ask(port, "nonsense\r\n\r\n"), /^HTTP\/1.1 400 /);
    assert.equal(await ask(port, `GET / HTTP/1.1\r\n${"x".repeat(100_000)}`).catch(() => ""), "", "an endless head is cut off");

    const others = Object.values(networkInterfaces()).flat().filter((i) => i.family === "IPv4" && !i.internal);
    for (const { address } of others) await assert.rejects(ask(port, "", address), /ECONNREFUSED/);
  });
});

test("an idle connection keeps nobody waiting", async () => {
  await serving([folder], async ({ port, get }) => {
    const idle = createConnection({ port, host: "127.0.0.1" });
    await new Promise((resolve) => idle.on("connect", resolve));
    assert.match(await get("/summary.json"), /200 OK/);
    idle.destroy();
  });
});

test("a reader that stops reading keeps nobody waiting", async () => {
  const large = writeResult("large", { "summary.json": '{"model": "large"}', "rows.csv": "x".repeat(40_000_000) });
  await serving([large], async ({ port, get }) => {
    const stuck = [];
    for (let i = 0; i < 3; ++i) {
      const socket = createConnection({ port, host: "127.0.0.1" });
      await new Promise((resolve) => socket.on("connect", resolve));
      socket.pause();
      socket.write(`GET /rows.csv HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
      stuck.push(socket);
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    const begin = Date.now();
    assert.match(await get("/summary.json"), /200 OK/);
    assert.ok(Date.now() - begin < 5000, `answered after ${Date.now() - begin} ms`);
    for (const socket of stuck) socket.destroy();
  });
});

test("files of the folder cannot run scripts", async () => {
  const drawn = writeResult("drawn", { "summary.json": '{"model": "drawn"}', "x.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>" });
  await serving([drawn], async ({ get }) => {
    for (const file of ["/x.svg", "/summary.json"]) assert.match(await get(file), /Content-Security-Policy: default-src 'none'; .*sandbox\r\n/);
    assert.doesNotMatch(await get("/"), /Content-Security-Policy: default-src 'none'; style/);
  });
});

test("a page served again shows the result of today", async () => {
  const changing = writeResult("changing", { "summary.json": '{"model": "first"}' });
  await serving([changing], async ({ get }) => {
    assert.match(await get("/"), /"title":"first"/);
    writeFileSync(join(changing, "summary.json"), '{"model": "second one"}');
    assert.match(await get("/"), /"title":"second one"/);
    writeFileSync(join(changing, "summary.json"), "{");
    assert.match(await get("/"), /^HTTP\/1.1 500 [^]*summary.json:1/);
  });
});

test("a port that is taken is refused; without --port another is found", async () => {
  await serving([folder], async ({ port }) => {
    assert.match(refused(folder, "--port", String(port)), /cannot listen at 127.0.0.1:/);
    await serving([folder], async (second) => assert.notEqual(second.port, port));
  });
});

test("mistakes are refused with what would be right", () => {
  assert.match(refused(), /RESULT is missing/);
  assert.match(refused(folder, folder, folder), /at most two results/);
  assert.match(refused(join(work, "nowhere")), /is not a folder/);
  assert.match(refused(work), /neither summary.json nor study.json/);
  assert.match(refused(folder, "--port", "70000"), /1 to 65535/);
  assert.match(refused(folder, "--port", "0"), /1 to 65535/);
  assert.match(refused(folder, "--html", "x.html", "--port", "8000"), /choose one/);
  assert.match(refused(folder, "--html", join(folder, "summary.json/x.html")), /cannot/);
  assert.match(refused(folder, "--html", work), /is a folder/);
});

test("--html writes one file without references", () => {
  const page = readFileSync(pageOf(folder), "utf8");
  assert.ok(statSync(`${folder}.html`).size < 3_000_000);
  assert.doesNotMatch(page, /<(script|link|img)[^>]* (src|href)="(?!data:)/);
});

test("--svg writes every plot", () => {
  const out = join(work, "figures/deep");
  const names = kreisel("view", folder, "--svg", out).trim().split("\n");
  assert.ok(names.includes(join(out, "position-top.svg")) && names.includes(join(out, "lambda-tip.svg")));
  assert.deepEqual(names.map((name) => name.slice(out.length + 1)).sort(), readdirSync(out).sort());
  assert.ok(names.every((name) => existsSync(name)));
});
