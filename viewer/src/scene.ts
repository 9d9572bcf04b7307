// The bodies in motion. Draws when something changed and not otherwise.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Clock } from "./clock";
import { lastNotAbove, type Body, type Result } from "./data";
import { h } from "./dom";
import { significant } from "./format";
import { Arrow, buildShape } from "./shapes";
import { color, onThemeChange, seriesColor } from "./theme";

/** Length of the longest force arrow, in multiples of the size of the scene. */
const longestArrow = 0.45;

/** Vertical angle of view of a picture that is not narrow [degrees]. */
const viewAngle = 35;

class MovingBody {
  readonly object: THREE.Object3D;
  readonly path: THREE.Line;
  readonly travelled: THREE.Line;
  private readonly count: number;
  private readonly quaternions: Float32Array;

  constructor(
    readonly body: Body,
    private readonly times: Float64Array,
    tint: string,
    size: number,
    isGhost: boolean,
  ) {
    this.count = times.length;
    this.object = buildShape(body.shapes, tint, size, isGhost);
    this.object.traverse((part) => (part.userData.body = body.name));
    this.quaternions = new Float32Array(4 * this.count);
    const matrix = new THREE.Matrix4();
    const q = new THREE.Quaternion();
    for (let i = 0; i < this.count; ++i) {
      const r = body.R.subarray(9 * i, 9 * i + 9);
      matrix.set(r[0], r[1], r[2], 0, r[3], r[4], r[5], 0, r[6], r[7], r[8], 0, 0, 0, 0, 1);
      q.setFromRotationMatrix(matrix).toArray(this.quaternions, 4 * i);
    }
    // The point at the present time is the one after the last frame that was passed.
    const positions = new Float32Array(3 * (this.count + 1));
    positions.set(body.x);
    const whole = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(Float32Array.from(body.x), 3));
    const part = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(positions, 3));
    this.path = new THREE.Line(whole, new THREE.LineBasicMaterial({ color: tint, transparent: true, opacity: 0.18 }));
    this.travelled = new THREE.Line(part, new THREE.LineBasicMaterial({ color: tint, transparent: true, opacity: 0.8 }));
    this.path.frustumCulled = this.travelled.frustumCulled = false;
    this.path.renderOrder = this.travelled.renderOrder = 1;
  }

  move(t: number): void {
    if (this.count === 0) return;
    const i = lastNotAbove(this.times, t);
    const j = Math.min(i + 1, this.count - 1);
    const span = this.times[j] - this.times[i];
    const s = span > 0 ? Math.min(1, Math.max(0, (t - this.times[i]) / span)) : 0;
    const { x } = this.body;
    this.object.position.set(
      x[3 * i] + s * (x[3 * j] - x[3 * i]),
      x[3 * i + 1] + s * (x[3 * j + 1] - x[3 * i + 1]),
      x[3 * i + 2] + s * (x[3 * j + 2] - x[3 * i + 2]),
    );
    const next = new THREE.Quaternion().fromArray(this.quaternions, 4 * j);
    this.object.quaternion.fromArray(this.quaternions, 4 * i).slerp(next, s);
    this.trail(i);
  }

  private trail(i: number): void {
    const { geometry } = this.travelled;
    const positions = geometry.getAttribute("position") as THREE.BufferAttribute;
    const { x } = this.body;
    // Restores the frame that held the moving end last time.
    for (const k of [this.end, i]) if (k < this.count) positions.setXYZ(k, x[3 * k], x[3 * k + 1], x[3 * k + 2]);
    this.end = i + 1;
    positions.setXYZ(this.end, this.object.position.x, this.object.position.y, this.object.position.z);
    positions.needsUpdate = true;
    geometry.setDrawRange(0, i + 2);
  }
  private end = 0;
}

export interface SceneSettings {
  trails: boolean;
  forces: boolean;
}

export class Scene {
  readonly element: HTMLElement;
  readonly settings: SceneSettings = { trails: true, forces: true };
  private readonly canvas = h("canvas", { tabindex: 0, "aria-label": "3D animation of the bodies" });
  private readonly caption = h("div", { class: "scene-caption" });
  private readonly renderer: THREE.WebGLRenderer;
  private readonly scene = new THREE.Scene();
  private readonly camera = new THREE.PerspectiveCamera(viewAngle, 1, 0.01, 1000);
  private readonly controls: OrbitControls;
  private readonly content = new THREE.Group();
  private readonly results: Result[];
  private bodies: MovingBody[] = [];
  private arrows: { arrow: Arrow; result: Result; force: number }[] = [];
  private arrowScale = 0;
  private readonly bounds: THREE.Box3;
  private readonly size: number;
  /** Turns z into the direction against gravity. */
  private readonly upright: THREE.Quaternion;
  private isDue = false;

  /** Throws when there is no WebGL. */
  constructor(
    first: Result,
    private readonly clock: Clock,
    private readonly onPick: (body: string) => void,
  ) {
    this.results = [first];
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(2, devicePixelRatio));
    this.element = h("div", { class: "scene" }, this.canvas, this.caption);
    this.bounds = boundsOf(first);
    this.size = this.bounds.getSize(new THREE.Vector3()).length() / Math.sqrt(3) || 1;

    this.upright = uprightFrame(first.up);
    this.camera.up.set(...first.up);
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8a8f98, 1.6));
    const lamp = new THREE.DirectionalLight(0xffffff, 1.9);
    lamp.position.set(2, -3, 5);
    this.scene.add(lamp, this.content);

    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener("change", () => this.draw());
    this.resetCamera();
    this.build();

    new ResizeObserver(() => this.resize()).observe(this.element);
    clock.onChange(() => this.draw());
    onThemeChange(() => this.build());
    this.canvas.addEventListener("pointerdown", (down) => {
      this.canvas.addEventListener("pointerup", (up) => {
        if (Math.hypot(up.clientX - down.clientX, up.clientY - down.clientY) < 3) this.pick(up);
      }, { once: true });
    });
    addEventListener("beforeprint", () => this.render());
  }

  overlay(result: Result): void {
    this.results.splice(1, 1, result);
    this.build();
  }

  set<K extends keyof SceneSettings>(key: K, value: SceneSettings[K]): void {
    this.settings[key] = value;
    this.draw();
  }

  /** Looks from a little above, as near as everything is seen at all times. */
  resetCamera(): void {
    const center = this.bounds.getCenter(new THREE.Vector3());
    const direction = new THREE.Vector3(1, -1.6, 1.05).normalize().applyQuaternion(this.upright);
    const distance = this.distanceToSeeAll(center, direction);
    this.camera.near = distance / 200;
    this.camera.far = distance * 20;
    this.camera.position.copy(center).addScaledVector(direction, distance);
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(center);
    this.controls.update();
    this.draw();
  }

  private distanceToSeeAll(center: THREE.Vector3, direction: THREE.Vector3): number {
    const view = new THREE.Matrix4().lookAt(direction, new THREE.Vector3(), this.camera.up).transpose();
    const [slope, secant] = [Math.tan((viewAngle * Math.PI) / 360), 1 / Math.cos((viewAngle * Math.PI) / 360)];
    let distance = 0;
    const point = new THREE.Vector3();
    const see = (x: number, y: number, z: number, radius: number) => {
      point.set(x, y, z).sub(center).applyMatrix4(view);
      const aside = Math.max(Math.abs(point.x), Math.abs(point.y)) + radius * secant;
      if (Number.isFinite(aside)) distance = Math.max(distance, point.z + aside / slope);
    };
    const radii = shapeRadii(this.results[0]);
    this.results[0].bodies.forEach(({ x }, k) => {
      const stride = 3 * Math.max(1, Math.ceil(x.length / 3 / 400));
      for (let i = 0; i + 2 < x.length; i += stride) see(x[i], x[i + 1], x[i + 2], radii[k] ?? 0);
    });
    if (this.bounds.containsPoint(new THREE.Vector3())) see(0, 0, 0, 0.22 * this.size);
    return 1.06 * distance || 3;
  }

  /** Turns the camera about what it looks at [rad]; `zoom` above 1 comes nearer. */
  orbit(azimuth: number, elevation: number, zoom = 1): void {
    const arm = this.camera.position.clone().sub(this.controls.target).applyQuaternion(this.upright.clone().invert());
    const radius = arm.length() / zoom;
    const tilt = Math.min(Math.PI - 0.05, Math.max(0.05, Math.acos(arm.z / arm.length()) - elevation));
    const turn = Math.atan2(arm.y, arm.x) + azimuth;
    arm.set(Math.sin(tilt) * Math.cos(turn), Math.sin(tilt) * Math.sin(turn), Math.cos(tilt)).multiplyScalar(radius);
    this.camera.position.copy(this.controls.target).add(arm.applyQuaternion(this.upright));
    this.controls.update();
    this.draw();
  }

  private build(): void {
    dispose(this.content);
    this.bodies = [];
    this.arrows = [];
    this.content.add(ground(this.bounds, this.size, this.upright), axes(0.22 * this.size));
    this.results.forEach((result, i) => {
      result.bodies.forEach((body, k) => {
        const tint = i === 0 ? seriesColor(k) : color("ghost");
        this.bodies.push(new MovingBody(body, result.frameTimes, tint, 0.12 * this.size, i > 0));
      });
    });
    for (const moving of this.bodies) this.content.add(moving.object, moving.path, moving.travelled);

    const largest = Math.max(0, ...this.results.map(largestForce));
    // Many arrows are shorter, so that the bodies stay visible.
    const crowd = Math.cbrt(Math.max(1, this.results[0].forces.length));
    this.arrowScale = largest > 0 ? (longestArrow * this.size) / (crowd * largest) : 0;
    this.caption.textContent = largest > 0 ? `longest arrow: ${significant(largest, 3)} N` : "";
    this.results.forEach((result, i) => {
      const material = new THREE.MeshStandardMaterial({
        color: i === 0 ? color("force") : color("ghost"),
        roughness: 0.7,
        transparent: i > 0,
        opacity: i > 0 ? 0.5 : 1,
      });
      result.forces.forEach((_, force) => {
        const arrow = new Arrow(material, (0.008 * this.size) / crowd);
        this.arrows.push({ arrow, result, force });
        this.content.add(arrow);
      });
    });
    this.draw();
  }

  private moveAll(): void {
    const t = this.clock.shown;
    for (const moving of this.bodies) {
      moving.move(t);
      moving.path.visible = moving.travelled.visible = this.settings.trails;
    }
    const at = new THREE.Vector3();
    const vector = new THREE.Vector3();
    for (const { arrow, result, force } of this.arrows) {
      arrow.visible = this.settings.forces;
      if (!this.settings.forces || result.frameTimes.length === 0) continue;
      interpolate(result.forces[force].at, result.frameTimes, t, at);
      interpolate(result.forces[force].vector, result.frameTimes, t, vector);
      arrow.point(at, vector.multiplyScalar(this.arrowScale));
    }
    this.caption.hidden = !this.settings.forces;
  }

  private pick(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const point = new THREE.Vector2(
      (2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height,
    );
    const ray = new THREE.Raycaster();
    ray.setFromCamera(point, this.camera);
    const hit = ray.intersectObjects(this.bodies.map((moving) => moving.object), true)[0];
    if (hit) this.onPick(hit.object.userData.body as string);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width === 0 || height === 0) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    // A narrow picture shows as much as a square one.
    const half = Math.tan((viewAngle * Math.PI) / 360) / Math.min(1, this.camera.aspect);
    this.camera.fov = (360 / Math.PI) * Math.atan(half);
    this.camera.updateProjectionMatrix();
    this.render();
  }

  private draw(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.render();
    });
  }

  private render(): void {
    this.moveAll();
    this.renderer.render(this.scene, this.camera);
  }
}

function interpolate(values: Float64Array, times: Float64Array, t: number, out: THREE.Vector3): void {
  const i = lastNotAbove(times, t);
  const j = Math.min(i + 1, times.length - 1);
  const s = times[j] > times[i] ? Math.min(1, Math.max(0, (t - times[i]) / (times[j] - times[i]))) : 0;
  const part = (k: number) => values[3 * i + k] + s * (values[3 * j + k] - values[3 * i + k]);
  out.set(part(0), part(1), part(2));
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

/** Where the bodies get to, their shapes included, and the origin if it is near. */
function boundsOf(result: Result): THREE.Box3 {
  const box = new THREE.Box3();
  const corner = new THREE.Vector3();
  for (const { x } of result.bodies)
    for (let i = 0; i + 2 < x.length; i += 3) if (Number.isFinite(x[i])) box.expandByPoint(corner.set(x[i], x[i + 1], x[i + 2]));
  if (box.isEmpty()) return new THREE.Box3(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
  const span = box.getSize(new THREE.Vector3()).length();
  if (box.distanceToPoint(new THREE.Vector3()) < Math.max(span, 1)) box.expandByPoint(new THREE.Vector3());
  return box.expandByScalar(Math.max(0.6 * Math.max(...shapeRadii(result), 0), 0.05 * span, 1e-3));
}

/** How far the shapes of the bodies reach from their centres of mass; of the first hundred. */
function shapeRadii(result: Result): number[] {
  return result.bodies.slice(0, 100).map(({ shapes }) => {
    if (shapes.length === 0) return 0;
    const sphere = new THREE.Box3().setFromObject(buildShape(shapes, 0, 1, false)).getBoundingSphere(new THREE.Sphere());
    return sphere.center.length() + sphere.radius;
  });
}

/** x stays in the ground where it can. */
function uprightFrame(up: [number, number, number]): THREE.Quaternion {
  const z = new THREE.Vector3(...up);
  const x = Math.abs(z.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 1, 0);
  x.addScaledVector(z, -x.dot(z)).normalize();
  return new THREE.Quaternion().setFromRotationMatrix(new THREE.Matrix4().makeBasis(x, new THREE.Vector3().crossVectors(z, x), z));
}

/** A square grid through the origin under what moves, with cells of 1, 2 or 5 times a power of ten. */
function ground(bounds: THREE.Box3, size: number, upright: THREE.Quaternion): THREE.Object3D {
  const level = bounds.clone().applyMatrix4(new THREE.Matrix4().makeRotationFromQuaternion(upright.clone().invert()));
  const rough = size / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const cell = power * (rough / power >= 5 ? 5 : rough / power >= 2 ? 2 : 1);
  const center = level.getCenter(new THREE.Vector3());
  const reach = Math.ceil((0.75 * Math.max(level.max.x - level.min.x, level.max.y - level.min.y)) / cell) * cell;
  const [cx, cy] = [Math.round(center.x / cell) * cell, Math.round(center.y / cell) * cell];
  const points: number[] = [];
  for (let s = -reach; s <= reach + cell / 2; s += cell) {
    points.push(cx + s, cy - reach, 0, cx + s, cy + reach, 0);
    points.push(cx - reach, cy + s, 0, cx + reach, cy + s, 0);
  }
  const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
  const grid = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: color("ground") }));
  grid.quaternion.copy(upright);
  return grid;
}

/** The inertial frame: x red, y green, z blue. */
function axes(length: number): THREE.Object3D {
  const group = new THREE.Group();
  const directions: [string, THREE.Vector3][] = [
    ["axis-x", new THREE.Vector3(length, 0, 0)],
    ["axis-y", new THREE.Vector3(0, length, 0)],
    ["axis-z", new THREE.Vector3(0, 0, length)],
  ];
  for (const [name, direction] of directions) {
    const arrow = new Arrow(new THREE.MeshBasicMaterial({ color: color(name) }), 0.016 * length);
    arrow.point(new THREE.Vector3(), direction);
    group.add(arrow);
  }
  return group;
}

function dispose(group: THREE.Group): void {
  group.traverse((part) => {
    if (part instanceof THREE.Mesh || part instanceof THREE.Line) {
      part.geometry.dispose();
      for (const material of [part.material].flat()) material.dispose();
    }
  });
  group.clear();
}
