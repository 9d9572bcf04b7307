// The bodies in motion. Draws only when something has changed.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Clock } from "./clock";
import { between, ManyBodies, manyBodies, pointBetween, SingleBodies, type Bodies } from "./bodies";
import type { Result, Shape } from "./data";
import { h } from "./dom";
import { significant } from "./format";
import { label, Marks } from "./marks";
import { levels, Pace } from "./pace";
import { fieldsOf, nodesOf, Rods, type RodField } from "./rods";
import { Arrow, buildShape } from "./shapes";
import { keep, kept } from "./state";
import { color, onThemeChange, seriesColor } from "./theme";

/** Length of the longest force arrow, in multiples of the size of the scene. */
const longestArrow = 0.45;

/** Lengths of the inertial axes and of the arrow of gravity, in multiples of the size of the scene. */
const triadPart = 0.22;
const gravityPart = 0.16;

/** Of the height and width of the picture; the rest is a margin. */
const visiblePart = 0.92;

/** More paths than these hide the bodies. */
const fewBodies = 16;

/** Vertical angle of view of a picture that is not narrow [degrees]. */
const viewAngle = 35;

export interface SceneSettings {
  trails: boolean;
  forces: boolean;
  parts: boolean;
  names: boolean;
  /** "solid", "clear", or a cut across an axis. */
  look: "solid" | "clear" | "x" | "y" | "z";
  /** Name of the body that the camera follows. */
  follow: string;
  /** Number of the quantity that colours rods; -1: none. */
  tint: number;
}

export const views = ["oblique", "front", "side", "top"] as const;
export type View = (typeof views)[number];

export class Scene {
  readonly element: HTMLElement;
  readonly settings: SceneSettings;
  private readonly canvas = h("canvas", { tabindex: 0, "aria-label": "3D animation of the bodies" });
  private readonly caption = h("div", { class: "scene-caption" });
  /** Absent until `start`. */
  private renderer!: THREE.WebGLRenderer;
  private readonly scene = new THREE.Scene();
  private readonly camera = new THREE.PerspectiveCamera(viewAngle, 1, 0.01, 1000);
  private controls!: OrbitControls;
  private readonly content = new THREE.Group();
  private readonly results: Result[];
  private bodies: Bodies[] = [];
  private rods: Rods[] = [];
  private fields: RodField[] = [];
  private marks: Marks | null = null;
  private arrows: { arrow: Arrow; result: Result; force: number }[] = [];
  private readonly bar = h("div", { class: "tint-bar", hidden: true });
  private arrowScale = 0;
  private bounds = new THREE.Box3();
  private size = 1;
  /** Turns z into the direction against gravity. */
  private readonly upright: THREE.Quaternion;
  private isDue = false;

  /** Measures nothing and draws nothing: text and plots are on the screen before the 3D picture is begun. */
  constructor(
    first: Result,
    private readonly clock: Clock,
    private readonly onPick: (body: string) => void,
  ) {
    this.results = [first];
    this.fields = fieldsOf(first);
    this.settings = {
      trails: kept("trails") === null ? first.bodies.length <= fewBodies : kept("trails") === "1",
      forces: kept("forces") !== "0",
      parts: kept("parts") !== "0",
      names: kept("names") === "1",
      look: (["clear", "x", "y", "z"].find((word) => word === kept("look")) ?? "solid") as SceneSettings["look"],
      follow: first.bodies.some((body) => body.name === kept("follow")) ? kept("follow")! : "",
      tint: this.fields.length > 0 && kept("tint") !== "none" ? Math.max(0, this.fields.findIndex((field) => field.name === kept("tint"))) : -1,
    };
    this.element = h("div", { class: "scene" }, this.canvas, this.caption, this.bar);
    this.upright = uprightFrame(first.up);
    this.camera.up.set(...first.up);
  }

  /** False: there is no WebGL. */
  start(): boolean {
    if (!hasWebGl()) return false;
    const [first] = this.results;
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(2, devicePixelRatio));
    this.renderer.localClippingEnabled = true;
    this.bounds = boundsOf(first);
    this.size = this.bounds.getSize(new THREE.Vector3()).length() / Math.sqrt(3) || 1;
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8a8f98, 1.6));
    const lamp = new THREE.DirectionalLight(0xffffff, 1.9);
    lamp.position.set(2, -3, 5);
    this.scene.add(lamp, this.content);

    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener("change", () => this.draw());
    this.controls.addEventListener("start", () => (this.wasMoved = true));
    this.measureForces();
    this.resetCamera();
    this.build();

    new ResizeObserver(() => this.resize()).observe(this.element);
    this.clock.onChange(() => this.draw());
    onThemeChange(() => this.build());
    this.canvas.addEventListener("pointerdown", (down) => {
      this.canvas.addEventListener("pointerup", (up) => {
        if (Math.hypot(up.clientX - down.clientX, up.clientY - down.clientY) < 3) this.pick(up);
      }, { once: true });
    });
    addEventListener("beforeprint", () => this.render());
    return true;
  }
  private get isStarted(): boolean {
    return this.renderer !== undefined;
  }

  overlay(result: Result): void {
    this.results.splice(1, 1, result);
    if (this.isStarted) this.build();
  }

  /** The same run with more points, or restarted; the camera stays where the reader has put it. */
  replace(result: Result): void {
    this.results[0] = result;
    this.fields = fieldsOf(result);
    if (!this.isStarted) return;
    const grown = boundsOf(result);
    const isInside = this.bounds.containsBox(grown);
    this.bounds.union(grown);
    this.size = this.bounds.getSize(new THREE.Vector3()).length() / Math.sqrt(3) || 1;
    this.build();
    if (!isInside && !this.wasMoved) this.resetCamera();
  }
  private wasMoved = false;

  set<K extends keyof SceneSettings>(key: K, value: SceneSettings[K]): void {
    this.settings[key] = value;
    const usual: Record<string, unknown> = { trails: this.results[0].bodies.length <= fewBodies, forces: true, parts: true, names: false, look: "solid", follow: "" };
    const word = typeof value === "boolean" ? (value ? "1" : "0") : key === "tint" ? (this.fields[value as number]?.name ?? "none") : String(value);
    keep(key, value === usual[key] ? null : word);
    if (!this.isStarted) return;
    if (key === "look" || key === "tint") this.applyLook();
    if (key === "follow") this.followed = null;
    this.draw();
  }

  /** Solid, transparent, or cut: the part towards the camera is removed. */
  private applyLook(): void {
    const { look } = this.settings;
    const isCut = look === "x" || look === "y" || look === "z";
    this.renderer.clippingPlanes = [];
    for (const drawn of [...this.bodies, ...this.rods]) drawn.setOpacity(look === "clear" ? 0.3 : 1);
    const planes: THREE.Plane[] = [];
    if (isCut) {
      const normal = new THREE.Vector3(look === "x" ? 1 : 0, look === "y" ? 1 : 0, look === "z" ? 1 : 0);
      const center = this.results[0].bodies.length > 0 ? this.bounds.getCenter(new THREE.Vector3()) : new THREE.Vector3();
      if (normal.dot(this.camera.position.clone().sub(center)) > 0) normal.negate();
      planes.push(new THREE.Plane().setFromNormalAndCoplanarPoint(normal, center));
    }
    for (const drawn of [...this.bodies, ...this.rods])
      drawn.object.traverse((part) => {
        if (part instanceof THREE.Mesh || part instanceof THREE.Points) for (const material of [part.material].flat()) material.clippingPlanes = planes;
      });
    const field = this.fields[this.settings.tint] ?? null;
    this.rods[0]?.setField(field);
    this.bar.hidden = field === null;
    if (field) this.bar.replaceChildren(h("span", {}, `${field.name}${field.unit ? ` [${field.unit}]` : ""}`), h("span", {}, significant(field.range[0], 3)), h("i", {}), h("span", {}, significant(field.range[1], 3)));
  }

  /** Looks from a little above, as near as possible with everything in view at all times. */
  resetCamera(view: View = "oblique"): void {
    this.wasMoved = false;
    this.followed = null;
    this.view = view;
    // Almost along the axes: up must not be the direction of view.
    const directions: Record<View, [number, number, number]> = { oblique: [1, -1.6, 1.05], front: [0, -1, 0], side: [1, 0, 0], top: [0, -1e-3, 1] };
    const direction = new THREE.Vector3(...directions[view]).normalize().applyQuaternion(this.upright);
    const { target, distance } = this.placeToSeeAll(direction);
    this.camera.near = distance / 200;
    this.camera.far = distance * 20;
    this.camera.position.copy(target).addScaledVector(direction, distance);
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(target);
    this.controls.update();
    this.draw();
  }
  private view: View = "oblique";

  /** A point at x, y, z of the axes of the view is seen from the distance d behind (a, b, 0) where |x − a| ≤ s (d − z), |y − b| ≤ s' (d − z). */
  private placeToSeeAll(direction: THREE.Vector3): { target: THREE.Vector3; distance: number } {
    const center = this.bounds.getCenter(new THREE.Vector3());
    const view = new THREE.Matrix4().lookAt(direction, new THREE.Vector3(), this.camera.up);
    const toView = view.clone().transpose();
    const upward = Math.tan((viewAngle * Math.PI) / 360) / Math.min(1, this.camera.aspect);
    const slopes = [visiblePart * upward * this.camera.aspect, visiblePart * upward];
    const high = [-Infinity, -Infinity];
    const low = [-Infinity, -Infinity];
    const seen = new THREE.Vector3();
    this.visitAll((point) => {
      seen.copy(point).sub(center).applyMatrix4(toView);
      for (const k of [0, 1]) {
        const side = seen.getComponent(k);
        if (!Number.isFinite(side)) continue;
        high[k] = Math.max(high[k], side + slopes[k] * seen.z);
        low[k] = Math.max(low[k], -side + slopes[k] * seen.z);
      }
    });
    const distance = Math.max(...[0, 1].map((k) => (high[k] + low[k]) / (2 * slopes[k])));
    if (!(distance > 0) || !Number.isFinite(distance)) return { target: center, distance: 3 };
    const target = new THREE.Vector3((high[0] - low[0]) / 2, (high[1] - low[1]) / 2, 0).applyMatrix4(view).add(center);
    return { target, distance };
  }

  /** Everything that is drawn, at some of the frames: corners of the bodies, and then what stands beside them. */
  private visitAll(visit: (point: THREE.Vector3) => void): void {
    const result = this.results[0];
    visitBodies(result, 0.06 * this.size, visit);
    const point = new THREE.Vector3();
    const arrow = new THREE.Vector3();
    for (const { at, vector } of result.forces) {
      const stride = 3 * strideOf(at.length / 3, result.forces.length);
      for (let i = 0; i + 2 < at.length; i += stride) {
        arrow.fromArray(vector, i).multiplyScalar(this.arrowScale);
        if (!(arrow.lengthSq() > 0)) continue; // nothing is drawn
        visit(point.fromArray(at, i));
        visit(point.add(arrow));
      }
    }
    for (const { places } of result.marks) for (const { body, at } of places) if (body < 0) visit(point.set(...at));
    if (this.bounds.containsPoint(new THREE.Vector3()))
      for (const axis of [0, 1, 2]) visit(point.set(0, 0, 0).setComponent(axis, 1.2 * triadPart * this.size));
    if (result.gravity > 0) for (const end of gravityEnds(result, this.bounds, gravityPart * this.size)) visit(end);
  }

  /** Turns the camera about its target [rad]; `zoom` above 1 moves it nearer. */
  orbit(azimuth: number, elevation: number, zoom = 1): void {
    const arm = this.camera.position.clone().sub(this.controls.target).applyQuaternion(this.upright.clone().invert());
    const radius = arm.length() / zoom;
    const tilt = Math.min(Math.PI - 0.05, Math.max(0.05, Math.acos(arm.z / arm.length()) - elevation));
    const turn = Math.atan2(arm.y, arm.x) + azimuth;
    arm.set(Math.sin(tilt) * Math.cos(turn), Math.sin(tilt) * Math.sin(turn), Math.cos(tilt)).multiplyScalar(radius);
    this.camera.position.copy(this.controls.target).add(arm.applyQuaternion(this.upright));
    this.wasMoved = true;
    this.controls.update();
    this.draw();
  }

  private build(): void {
    dispose(this.content);
    this.arrows = [];
    const paper = color("surface");
    this.content.add(ground(this.bounds, this.size, this.upright, this.groundLevel()), axes(triadPart * this.size, paper));
    if (this.results[0].gravity > 0) this.content.add(gravityArrow(this.results[0], this.bounds, gravityPart * this.size, paper));
    this.bodies = this.results.map((result, i) => {
      const tintOf = (k: number) => (i === 0 ? seriesColor(k) : color("ghost"));
      const kind = result.bodies.length >= manyBodies ? ManyBodies : SingleBodies;
      const nodes = nodesOf(result);
      return new kind(result, tintOf, 0.12 * this.size, i > 0, (k) => nodes.has(k));
    });
    this.rods = this.results.map((result, i) => new Rods(result, (k) => (i === 0 ? seriesColor(k) : color("ghost")), 0.006 * this.size, i > 0));
    for (const drawn of [...this.bodies, ...this.rods]) this.content.add(drawn.object);
    for (const drawn of [...this.bodies, ...this.rods]) drawn.move(this.clock.shown);
    this.marks = new Marks(this.results[0].marks, this.bodies[0], this.results[0].bodies.map((body) => body.name), this.size, {
      joint: color("mark-joint"), spring: color("mark-spring"), damper: color("mark-joint"), actuator: color("mark-actuator"),
      output: color("mark-output"), text: color("text"), surface: paper,
    });
    this.content.add(this.marks.object);

    const crowd = this.measureForces();
    const shades: Record<string, string> = { spring: color("mark-spring"), applied: color("mark-actuator") };
    this.results.forEach((result, i) => {
      // Visible through solids: a force usually acts inside them.
      const paintOf = (shade: string) => new THREE.MeshStandardMaterial({
        color: i === 0 ? shade : color("ghost"), roughness: 0.7, transparent: true, opacity: i > 0 ? 0.5 : 0.92, depthTest: false, depthWrite: false,
      });
      const paints = new Map<string, THREE.Material>();
      result.forces.forEach(({ kind }, force) => {
        if (!paints.has(kind)) paints.set(kind, paintOf(shades[kind] ?? color("force")));
        const arrow = new Arrow(paints.get(kind)!, (0.008 * this.size) / crowd);
        arrow.traverse((part) => (part.renderOrder = 10));
        this.arrows.push({ arrow, result, force });
        this.content.add(arrow);
      });
    });
    this.applyLook();
    this.draw();
  }

  /** Scale of the arrows, so that the longest has a good length; returns by how much all are smaller because they are many. */
  private measureForces(): number {
    const largest = Math.max(0, ...this.results.map(largestForce));
    const crowd = Math.cbrt(Math.max(1, this.results[0].forces.length));
    this.arrowScale = largest > 0 ? (longestArrow * this.size) / (crowd * largest) : 0;
    this.caption.textContent = largest > 0 ? `longest arrow: ${significant(largest, 3)} N` : "";
    return crowd;
  }

  /** The plane through the origin, or a lower one that the bodies do not cross. */
  private groundLevel(): number {
    const up = new THREE.Vector3(...this.results[0].up);
    let lowest = 0;
    visitBodies(this.results[0], 0.06 * this.size, (point) => {
      const height = point.dot(up);
      if (height < lowest) lowest = height;
    });
    return lowest;
  }

  /** The camera follows a body without turning. */
  private followBody(): void {
    const k = this.results[0].bodies.findIndex((body) => body.name === this.settings.follow);
    if (k < 0) return;
    const [now, turn] = [new THREE.Vector3(), new THREE.Quaternion()];
    this.bodies[0].pose(k, now, turn);
    if (!Number.isFinite(now.x)) return;
    const way = now.clone().sub(this.followed ?? this.controls.target);
    this.followed = now;
    this.camera.position.add(way);
    this.controls.target.add(way);
    this.camera.lookAt(this.controls.target);
    this.camera.updateMatrixWorld();
  }
  private followed: THREE.Vector3 | null = null;

  private moveAll(): void {
    const t = this.clock.shown;
    for (const bodies of this.bodies) {
      bodies.showTrails(this.settings.trails);
      bodies.move(t);
    }
    for (const rods of this.rods) rods.move(t);
    if (this.settings.follow) this.followBody();
    this.marks?.move(this.settings.parts, this.settings.names);
    const at = new THREE.Vector3();
    const vector = new THREE.Vector3();
    for (const { arrow, result, force } of this.arrows) {
      arrow.visible = this.settings.forces;
      if (!this.settings.forces || result.frameTimes.length === 0) continue;
      const place = between(result.frameTimes, t);
      pointBetween(result.forces[force].at, place, at);
      pointBetween(result.forces[force].vector, place, vector);
      arrow.point(at, vector.multiplyScalar(this.arrowScale));
    }
    this.caption.hidden = !this.settings.forces;
  }

  /** One picture of a given size at a time, as the page would draw it; for videos. */
  pictureAt(t: number, width: number, height: number): HTMLCanvasElement {
    this.isFilming = true;
    this.clock.pause();
    this.clock.set(t);
    this.setSize(width, height, 1);
    this.renderer.setClearColor(new THREE.Color(color("surface")), 1);
    this.render();
    this.renderer.setClearColor(0x000000, 0);
    return this.canvas;
  }
  /** The current picture, in the colours for paper. */
  pictureBlob(take: (blob: Blob) => void): void {
    const { width, height } = this.canvas;
    this.pictureAt(this.clock.t, width, height).toBlob((blob) => blob && take(blob));
    this.restoreSize();
  }
  /** From the first picture of another size until the size is restored, nothing else is drawn. */
  private isFilming = false;
  restoreSize(): void {
    this.isFilming = false;
    this.resize();
  }
  get title(): string {
    return this.results[0].title;
  }
  get bodyNames(): string[] {
    return this.results[0].bodies.map((body) => body.name);
  }
  get tintNames(): string[] {
    return this.fields.map((field) => field.name);
  }
  /** Milliseconds that one move of everything takes, without the drawing; for tests. */
  timeMoves(count: number): number {
    const begin = performance.now();
    for (let i = 0; i < count; ++i)
      for (const bodies of this.bodies) {
        bodies.move(this.clock.begin + (i / count) * (this.clock.end - this.clock.begin));
        bodies.see({ camera: this.camera, height: this.canvas.height, pointsBelow: 0 });
      }
    return (performance.now() - begin) / count;
  }

  private pick(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const point = new THREE.Vector2(
      (2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height,
    );
    const ray = new THREE.Raycaster();
    ray.setFromCamera(point, this.camera);
    for (const bodies of this.bodies) bodies.see({ camera: this.camera, height: this.canvas.height, pointsBelow: 0 });
    const drawn = [...this.bodies, ...this.rods];
    const hit = ray.intersectObjects(drawn.map(({ object }) => object), true).find(({ object }) => object instanceof THREE.Mesh);
    const body = hit && drawn.map((one) => one.picked(hit)).find((name) => name !== null);
    if (body) this.onPick(body);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width === 0 || height === 0 || this.isFilming) return;
    this.setSize(width, height, Math.min(2, devicePixelRatio));
    this.render();
  }

  private setSize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    // A narrow picture shows as much as a square one.
    const half = Math.tan((viewAngle * Math.PI) / 360) / Math.min(1, this.camera.aspect);
    this.camera.fov = (360 / Math.PI) * Math.atan(half);
    this.camera.updateProjectionMatrix();
    if (!this.wasMoved) this.resetCamera(this.view);
  }

  /** In the next picture of the browser; while the clock runs, which it does from picture to picture, in this one. */
  private draw(): void {
    if (this.isDue || this.isFilming) return;
    this.isDue = true;
    const show = () => {
      this.isDue = false;
      if (this.isFilming) return;
      // What stood still until now is drawn in full detail once.
      const moves = (this.clock.playing && this.wasPlaying) || performance.now() - this.readyAt < 300;
      this.wasPlaying = this.clock.playing;
      this.render(moves ? this.pace.level : 0);
      this.watchPace(moves);
    };
    if (this.clock.playing) queueMicrotask(show);
    else requestAnimationFrame(show);
  }
  private wasPlaying = false;
  /** When the browser was ready for the picture after the last one. */
  private readyAt = -Infinity;

  /** A browser that cannot follow begins its next picture late. After a motion the last picture is drawn in full detail. */
  private watchPace(moves: boolean): void {
    const begin = performance.now();
    requestAnimationFrame(() => {
      this.readyAt = performance.now();
      if (moves) this.pace.took(this.readyAt - begin);
    });
    clearTimeout(this.rest);
    if (!moves) return;
    this.rest = window.setTimeout(() => {
      if (this.pace.level > 0 && !this.isFilming) this.render();
      this.pace.rested();
    }, 400);
  }
  private readonly pace = new Pace();
  private rest = 0;

  /** Whether the last picture has every detail and no other is due; for tests. */
  get isDetailed(): boolean {
    return !this.isDue && this.level === 0;
  }
  private level = 0;

  private render(level = 0): void {
    this.level = level;
    const { pointsBelow, resolution } = levels[level];
    if (this.renderer.getPixelRatio() !== this.ratio * resolution) this.renderer.setPixelRatio(this.ratio * resolution);
    this.moveAll();
    for (const bodies of this.bodies) bodies.see({ camera: this.camera, height: this.canvas.height, pointsBelow });
    this.renderer.render(this.scene, this.camera);
  }
  /** Pixels of the picture per pixel of the page, in full detail. */
  private ratio = 1;
}

/** Tested on a separate canvas, because three.js reports a failure as an error. */
function hasWebGl(): boolean {
  const context = document.createElement("canvas").getContext("webgl2");
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return context !== null;
}

function largestForce(result: Result): number {
  let largest = 0;
  for (const { vector } of result.forces)
    for (let i = 0; i + 2 < vector.length; i += 3) {
      const size = Math.hypot(vector[i], vector[i + 1], vector[i + 2]);
      if (size > largest) largest = size;
    }
  return largest;
}

/** The region that the bodies reach, their shapes included, and the origin if it is near. */
function boundsOf(result: Result): THREE.Box3 {
  const box = new THREE.Box3();
  const corner = new THREE.Vector3();
  for (const { x } of result.bodies)
    for (let i = 0; i + 2 < x.length; i += 3) if (Number.isFinite(x[i])) box.expandByPoint(corner.set(x[i], x[i + 1], x[i + 2]));
  for (const { places } of result.marks) for (const { body, at } of places) if (body < 0) box.expandByPoint(corner.set(...at));
  if (box.isEmpty()) return new THREE.Box3(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
  const span = box.getSize(new THREE.Vector3()).length();
  if (box.distanceToPoint(new THREE.Vector3()) < Math.max(span, 1)) box.expandByPoint(new THREE.Vector3());
  return box.expandByScalar(Math.max(0.6 * Math.max(...shapeRadii(result), 0), 0.05 * span, 1e-3));
}

/** How far the shapes of the bodies reach from their centres of mass; of the first hundred. */
function shapeRadii(result: Result): number[] {
  return result.bodies.slice(0, fewShapes).map(({ shapes }) => {
    if (shapes.length === 0) return 0;
    const sphere = boxOf(shapes).getBoundingSphere(new THREE.Sphere());
    return sphere.center.length() + sphere.radius;
  });
}

/** More bodies than these are points where the size of a scene matters. */
const fewShapes = 100;

const boxes = new WeakMap<Shape[], THREE.Box3>();

function boxOf(shapes: Shape[]): THREE.Box3 {
  const box = boxes.get(shapes) ?? new THREE.Box3().setFromObject(buildShape(shapes, 0, 1, false));
  boxes.set(shapes, box);
  return box;
}

/** At most 400 frames of a body, and 40,000 poses of all. */
function strideOf(frames: number, count: number): number {
  return Math.max(1, Math.ceil(frames / 400), Math.ceil((frames * count) / 40_000));
}

/** Corners of boxes around the bodies and their places of marks, at some of the frames; `half` of a side of bodies without a shape. */
function visitBodies(result: Result, half: number, visit: (point: THREE.Vector3) => void): void {
  const nodes = nodesOf(result);
  const cornersOf = ({ min, max }: THREE.Box3) =>
    [min.x, max.x].flatMap((x) => [min.y, max.y].flatMap((y) => [min.z, max.z].map((z) => new THREE.Vector3(x, y, z))));
  const corners = result.bodies.map(({ shapes }, k) => {
    if (k >= fewShapes) return [new THREE.Vector3()];
    if (nodes.has(k)) return [];
    return cornersOf(shapes.length > 0 ? boxOf(shapes) : new THREE.Box3(new THREE.Vector3(-half, -half, -half), new THREE.Vector3(half, half, half)));
  });
  for (const { bodies, axis, section } of result.rods)
    bodies.forEach((k, i) => {
      const [y, z] = section.kind === "circle" ? [section.radius, section.radius] : [section.y / 2, section.z / 2];
      for (const [a, b] of [[-y, -z], [-y, z], [y, -z], [y, z]]) corners[k]?.push(new THREE.Vector3(...axis[i]).add(new THREE.Vector3(0, a, b)));
    });
  for (const { places } of result.marks) for (const { body, at } of places) corners[body]?.push(new THREE.Vector3(...at));
  const point = new THREE.Vector3();
  const turn = new THREE.Quaternion();
  result.bodies.forEach(({ x, q }, k) => {
    const stride = strideOf(x.length / 3, result.bodies.length);
    for (let i = 0; 3 * i + 2 < x.length; i += stride) {
      turn.fromArray(q, 4 * i);
      for (const corner of corners[k]) {
        point.copy(corner).applyQuaternion(turn);
        point.set(point.x + x[3 * i], point.y + x[3 * i + 1], point.z + x[3 * i + 2]);
        if (Number.isFinite(point.x + point.y + point.z)) visit(point);
      }
    }
  });
}

/** x stays in the ground where it can. */
function uprightFrame(up: [number, number, number]): THREE.Quaternion {
  const z = new THREE.Vector3(...up);
  const x = Math.abs(z.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 1, 0);
  x.addScaledVector(z, -x.dot(z)).normalize();
  return new THREE.Quaternion().setFromRotationMatrix(new THREE.Matrix4().makeBasis(x, new THREE.Vector3().crossVectors(z, x), z));
}

/** A square grid under the moving bodies, at a height, with cells of 1, 2 or 5 times a power of ten. */
function ground(bounds: THREE.Box3, size: number, upright: THREE.Quaternion, height: number): THREE.Object3D {
  const level = bounds.clone().applyMatrix4(new THREE.Matrix4().makeRotationFromQuaternion(upright.clone().invert()));
  const rough = size / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const cell = power * (rough / power >= 5 ? 5 : rough / power >= 2 ? 2 : 1);
  const center = level.getCenter(new THREE.Vector3());
  const reach = Math.ceil((0.75 * Math.max(level.max.x - level.min.x, level.max.y - level.min.y)) / cell) * cell;
  const [cx, cy] = [Math.round(center.x / cell) * cell, Math.round(center.y / cell) * cell];
  const points: number[] = [];
  for (let s = -reach; s <= reach + cell / 2; s += cell) {
    points.push(cx + s, cy - reach, height, cx + s, cy + reach, height);
    points.push(cx - reach, cy + s, height, cx + reach, cy + s, height);
  }
  const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
  const grid = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: color("ground") }));
  grid.quaternion.copy(upright);
  return grid;
}

/** An arrow, and a pale copy that is seen through the bodies. */
function arrowsSeenThrough(name: string, thickness: number, from: THREE.Vector3, way: THREE.Vector3): Arrow[] {
  const arrows = [{}, { transparent: true, opacity: 0.35, depthTest: false, depthWrite: false }].map(
    (paint) => new Arrow(new THREE.MeshBasicMaterial({ color: color(name), ...paint }), thickness));
  for (const arrow of arrows) arrow.point(from, way);
  arrows[1].traverse((part) => (part.renderOrder = 9));
  return arrows;
}

/** The inertial frame: x red, y green, z blue. */
function axes(length: number, paper: string): THREE.Object3D {
  const group = new THREE.Group();
  const directions: [string, THREE.Vector3][] = [
    ["axis-x", new THREE.Vector3(length, 0, 0)],
    ["axis-y", new THREE.Vector3(0, length, 0)],
    ["axis-z", new THREE.Vector3(0, 0, length)],
  ];
  for (const [name, direction] of directions) {
    group.add(...arrowsSeenThrough(name, 0.016 * length, new THREE.Vector3(), direction));
    const letter = label(name.slice(-1), color(name), paper);
    letter.position.copy(direction).multiplyScalar(1.12);
    group.add(letter);
  }
  return group;
}

/** Beside the axes of the inertial frame, or beside the moving bodies where these are far away. */
function gravityEnds(result: Result, bounds: THREE.Box3, length: number): [THREE.Vector3, THREE.Vector3] {
  const down = new THREE.Vector3(...result.up).negate();
  const root = bounds.containsPoint(new THREE.Vector3()) ? new THREE.Vector3() : bounds.min.clone();
  const aside = new THREE.Vector3(-1, -1, 0).normalize().applyQuaternion(uprightFrame(result.up)); // left in the first view
  const from = root.addScaledVector(aside, 0.6 * length).addScaledVector(down, -1.2 * length);
  return [from, from.clone().addScaledVector(down, length)];
}

function gravityArrow(result: Result, bounds: THREE.Box3, length: number, paper: string): THREE.Object3D {
  const group = new THREE.Group();
  const [from, to] = gravityEnds(result, bounds, length);
  group.add(...arrowsSeenThrough("faint", 0.02 * length, from, to.clone().sub(from)));
  const letter = label("g", color("faint"), paper);
  letter.position.copy(to).addScaledVector(to.clone().sub(from), 0.2);
  group.add(letter);
  return group;
}

function dispose(group: THREE.Group): void {
  group.traverse((part) => {
    if (part instanceof THREE.Sprite) {
      part.material.map?.dispose();
      part.material.dispose();
    } else if (part instanceof THREE.Mesh || part instanceof THREE.Line || part instanceof THREE.Points) {
      part.geometry.dispose();
      for (const material of [part.material].flat()) material.dispose();
    }
  });
  group.clear();
}
