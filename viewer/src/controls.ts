// Buttons under the animation, and the keys of the page.
import { speeds, type Clock } from "./clock";
import { nearestIndex } from "./data";
import { h, toggle } from "./dom";
import { minus, running } from "./format";
import type { TimePanels } from "./panels";
import { fileName, saveBlob } from "./save";
import { views, type Scene, type SceneSettings, type View } from "./scene";
import { toggleTheme } from "./theme";
import { canFilm, film } from "./webm";

const scrubSteps = 10000;

export function transport(clock: Clock, scene: Scene | null): HTMLElement {
  const play = h("button", { type: "button", class: "play", title: "Play or pause (space)", click: () => clock.toggle() });
  const scrub = h("input", {
    type: "range", min: 0, max: scrubSteps, step: 1, "aria-label": "time",
    input: () => clock.set(clock.begin + (Number(scrub.value) / scrubSteps) * (clock.end - clock.begin)),
  });
  const time = h("output", { class: "time" });
  const speed = h("select", { "aria-label": "speed", title: "Speed (+ and −)", change: () => clock.setSpeed(Number(speed.value)) },
    ...speeds.map((s) => h("option", { value: s }, `${s}×`)));

  const follow = () => {
    play.textContent = clock.playing ? "❚❚" : "▶";
    play.setAttribute("aria-label", clock.playing ? "pause" : "play");
    const length = clock.end - clock.begin;
    scrub.value = String(length > 0 ? Math.round((scrubSteps * (clock.shown - clock.begin)) / length) : 0);
    scrub.setAttribute("aria-valuetext", `${running(clock.shown)} seconds`);
    time.textContent = `${running(clock.shown)} s`;
    speed.value = String(clock.speed);
  };
  clock.onChange(follow);
  follow();

  const bar = h("div", { class: "transport" }, play, scrub, time, speed);
  return h("div", { class: "controls" }, bar, scene ? viewBar(clock, scene) : null);
}

function choice(label: string, title: string, options: [value: string, text: string][], value: string, change: (value: string) => void): HTMLSelectElement {
  const select = h("select", { "aria-label": label, title, change: () => change(select.value) }, ...options.map(([v, text]) => h("option", { value: v }, text)));
  select.value = value;
  return select;
}

function viewBar(clock: Clock, scene: Scene): HTMLElement {
  const { settings } = scene;
  const camera = choice("camera", "Where the camera looks from (1 to 4)", [["", "camera"], ...views.map((view): [string, string] => [view, view])], "", (view) => {
    if (view) scene.resetCamera(view as View);
    camera.value = "";
  });
  const record = h("button", { type: "button", title: "Save the animation as a video (WebM), frame by frame", click: () => void saveFilm(clock, scene, record) }, "record");
  record.hidden = !canFilm();
  return h("div", { class: "view-bar" },
    toggle("trails", "Paths of the centres of mass (t)", settings.trails, (on) => scene.set("trails", on)),
    toggle("forces", "Forces as arrows (f)", settings.forces, (on) => scene.set("forces", on)),
    toggle("parts", "Joints, springs, actuators, outputs (p)", settings.parts, (on) => scene.set("parts", on)),
    toggle("names", "Names of bodies and parts, axes of bodies (n)", settings.names, (on) => scene.set("names", on)),
    choice("look", "Solid, transparent, or cut across an axis (x)", [["solid", "solid"], ["clear", "transparent"], ["x", "cut x"], ["y", "cut y"], ["z", "cut z"]], settings.look,
      (look) => scene.set("look", look as SceneSettings["look"])),
    camera,
    scene.bodyNames.length > 0 ? choice("follow", "The body that the camera follows", [["", "follow"], ...scene.bodyNames.slice(0, 500).map((name): [string, string] => [name, name])], settings.follow, (name) => scene.set("follow", name)) : null,
    scene.tintNames.length > 0 ? choice("colour", "What the colours of the rods mean", [["-1", "colour"], ...scene.tintNames.map((name, i): [string, string] => [String(i), name])], String(settings.tint), (i) => scene.set("tint", Number(i))) : null,
    h("button", { type: "button", title: "Save the picture (PNG)", click: () => scene.pictureBlob((blob) => saveBlob(blob, `${fileName(scene.title)}.png`)) }, "PNG"),
    record,
  );
}

/** Of the whole run, at the speed of the page. */
export async function filmOf(clock: Clock, scene: Scene, width: number, height: number, seconds: number, rate: number, tell?: (done: number) => boolean): Promise<Blob> {
  const count = Math.max(2, Math.round(seconds * rate));
  const was = clock.t;
  try {
    return await film({
      width, height, rate, count,
      draw: (i) => scene.pictureAt(clock.begin + (i / (count - 1)) * (clock.end - clock.begin), width, height),
      progress: (i) => (tell ? tell((i + 1) / count) : true),
    });
  } finally {
    scene.restoreSize();
    clock.set(was);
  }
}

let isFilming = false;
async function saveFilm(clock: Clock, scene: Scene, button: HTMLButtonElement): Promise<void> {
  if (isFilming) {
    isFilming = false; // the second press stops
    return;
  }
  isFilming = true;
  try {
    const box = scene.element.getBoundingClientRect();
    // Encoders need even sizes.
    const even = (length: number) => 2 * Math.round((length * Math.min(2, devicePixelRatio)) / 2);
    const seconds = Math.min(120, (clock.end - clock.begin) / clock.speed);
    const blob = await filmOf(clock, scene, even(box.width), even(box.height), seconds, 30, (done) => {
      button.textContent = `${Math.round(100 * done)} %, stop`;
      return isFilming;
    });
    saveBlob(blob, `${fileName(scene.title)}.webm`);
    button.textContent = "record";
  } catch (error) {
    button.textContent = "no video";
    button.title = (error as Error).message;
  } finally {
    isFilming = false;
  }
}

export const keys: [string, string][] = [
  ["space", "play or pause"],
  ["← →", "one point back or forward, with shift ten"],
  ["home end", "to the beginning or the end"],
  ["+ −", "faster or slower"],
  ["a d w s", "turn the camera"],
  ["q e", "camera nearer or farther"],
  ["c 1 2 3 4", "reset the camera; oblique, front, side, top"],
  ["t f p n", "trails, forces, parts, names"],
  ["x", "solid, transparent, cut"],
  ["[ ]", "zoom into the plots, out of them"],
  [", .", "shift the plots back, forward"],
  ["z", "whole time axis"],
  ["l", "light or dark"],
  ["?", "these keys"],
];

const ownSpace = new Set(["BUTTON", "SELECT", "SUMMARY", "INPUT", "A"]);
const ownArrows = new Set(["SELECT", "INPUT"]);

export function listenToKeys(clock: Clock | null, scene: Scene | null, panels: TimePanels | null, help: () => void): void {
  const press = (title: string) =>
    document.querySelector<HTMLButtonElement>(`.view-bar button[title^="${title}"]`)?.click();
  const nextLook = () => {
    const select = document.querySelector<HTMLSelectElement>('.view-bar select[aria-label="look"]');
    if (!select) return;
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
    select.dispatchEvent(new Event("change"));
  };
  const faster = (by: number) => {
    if (!clock) return;
    const i = nearestIndex(speeds, clock.speed) + by;
    clock.setSpeed(speeds[Math.min(speeds.length - 1, Math.max(0, i))]);
  };
  const actions: Record<string, (event: KeyboardEvent) => void> = {
    " ": () => clock?.toggle(),
    ArrowLeft: (event) => clock?.step(event.shiftKey ? -10 : -1),
    ArrowRight: (event) => clock?.step(event.shiftKey ? 10 : 1),
    Home: () => clock?.set(clock.begin),
    End: () => clock?.set(clock.end),
    "+": () => faster(1),
    "=": () => faster(1),
    "-": () => faster(-1),
    a: () => scene?.orbit(-0.08, 0),
    d: () => scene?.orbit(0.08, 0),
    w: () => scene?.orbit(0, 0.08),
    s: () => scene?.orbit(0, -0.08),
    q: () => scene?.orbit(0, 0, 1.1),
    e: () => scene?.orbit(0, 0, 1 / 1.1),
    c: () => scene?.resetCamera(),
    "1": () => scene?.resetCamera("oblique"),
    "2": () => scene?.resetCamera("front"),
    "3": () => scene?.resetCamera("side"),
    "4": () => scene?.resetCamera("top"),
    t: () => press("Paths"),
    f: () => press("Forces"),
    p: () => press("Joints"),
    n: () => press("Names"),
    x: nextLook,
    "[": () => clock && panels?.window.scale(0.5, clock.t),
    "]": () => clock && panels?.window.scale(2, clock.t),
    ",": () => panels?.window.shift(-0.25),
    ".": () => panels?.window.shift(0.25),
    z: () => panels?.resetZoom(),
    l: toggleTheme,
    "?": help,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof Element)) return;
    const { tagName } = event.target;
    if (event.key === " " && ownSpace.has(tagName)) return;
    if (/^(Arrow|Home|End)/.test(event.key) && ownArrows.has(tagName)) return;
    if (tagName === "SELECT" && /^[a-z0-9]$/.test(event.key)) return;
    if (event.target instanceof HTMLInputElement && event.target.type !== "range" && event.target.type !== "checkbox") return;
    if (document.querySelector("dialog[open]")) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}

export function helpDialog(): HTMLDialogElement {
  const dialog = h("dialog", { class: "help", "aria-label": "Keys" },
    h("h3", {}, "Keys"),
    h("dl", {}, ...keys.flatMap(([key, meaning]) => [h("dt", {}, h("kbd", {}, minus(key))), h("dd", {}, meaning)])),
    h("p", {}, "In the plots: drag to zoom in, double-click to zoom out, click to set the time. In the picture: drag to turn, " +
      "wheel to zoom, right button to shift, click a body to see its curves."),
    h("form", { method: "dialog" }, h("button", {}, "close")));
  return dialog;
}
