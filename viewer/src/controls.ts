// Buttons under the animation, and the keys of the page.
import { speeds, type Clock } from "./clock";
import { nearestIndex } from "./data";
import { h, toggle } from "./dom";
import { minus, running } from "./format";
import type { TimePanels } from "./panels";
import type { Scene } from "./scene";
import { toggleTheme } from "./theme";

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
  const view = h("div", { class: "view-bar" });
  if (scene) {
    view.append(
      toggle("trails", "Paths of the centres of mass (t)", scene.settings.trails, (on) => scene.set("trails", on)),
      toggle("forces", "Reaction forces as arrows (f)", scene.settings.forces, (on) => scene.set("forces", on)),
      h("button", { type: "button", title: "Camera back to where it was (c)", click: () => scene.resetCamera() }, "camera"),
    );
  }
  return h("div", { class: "controls" }, bar, view);
}

export const keys: [string, string][] = [
  ["space", "play or pause"],
  ["← →", "one point back or on, with shift ten"],
  ["home end", "to the beginning or the end"],
  ["+ −", "faster or slower"],
  ["a d w s", "turn the camera"],
  ["q e", "camera nearer or farther"],
  ["c", "camera back"],
  ["t f", "trails, forces"],
  ["z", "whole time axis"],
  ["l", "light or dark"],
  ["?", "these keys"],
];

const ownSpace = new Set(["BUTTON", "SELECT", "SUMMARY", "INPUT", "A"]);
const ownArrows = new Set(["SELECT", "INPUT"]);

export function listenToKeys(clock: Clock | null, scene: Scene | null, panels: TimePanels | null, help: () => void): void {
  const press = (title: string) =>
    document.querySelector<HTMLButtonElement>(`.view-bar button[title^="${title}"]`)?.click();
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
    t: () => press("Paths"),
    f: () => press("Reaction"),
    z: () => panels?.resetZoom(),
    l: toggleTheme,
    "?": help,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof Element)) return;
    const { tagName } = event.target;
    if (event.key === " " && ownSpace.has(tagName)) return;
    if (/^(Arrow|Home|End)/.test(event.key) && ownArrows.has(tagName)) return;
    if (tagName === "SELECT" && /^[a-z]$/.test(event.key)) return;
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
