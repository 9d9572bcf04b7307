// Bodies in motion: poses between frames, meshes of a few bodies, and instances of many.
import * as THREE from "three";
import { lastNotAbove, type Body, type Result } from "./data";
import { buildShape } from "./shapes";

/** From this many bodies on, equal shapes are drawn together. */
export const manyBodies = 150;

/** Where a time lies between two frames. */
export interface Between {
  i: number;
  j: number;
  s: number;
}

export function between(times: Float64Array, t: number): Between {
  const i = lastNotAbove(times, t);
  const j = Math.min(i + 1, times.length - 1);
  const span = times[j] - times[i];
  return { i, j, s: span > 0 ? Math.min(1, Math.max(0, (t - times[i]) / span)) : 0 };
}

export function pointBetween(values: Float64Array, { i, j, s }: Between, out: THREE.Vector3): THREE.Vector3 {
  const part = (k: number) => values[3 * i + k] + s * (values[3 * j + k] - values[3 * i + k]);
  return out.set(part(0), part(1), part(2));
}

/** Quaternions of neighbours have the same sign (data.ts), so linear interpolation takes the shorter arc. */
export function turnBetween(q: Float32Array, { i, j, s }: Between, out: THREE.Quaternion): THREE.Quaternion {
  const [a, b] = [4 * i, 4 * j];
  const dot = q[a] * q[b] + q[a + 1] * q[b + 1] + q[a + 2] * q[b + 2] + q[a + 3] * q[b + 3];
  if (dot > 0.9995) {
    const part = (k: number) => q[a + k] + s * (q[b + k] - q[a + k]);
    return out.set(part(0), part(1), part(2), part(3)).normalize();
  }
  const next = new THREE.Quaternion().fromArray(q, b);
  return out.fromArray(q, a).slerp(next, s);
}

/** From blue over green and yellow to red, small to large; the bar of the scene shows the same. */
const tints = [0x2b4fd0, 0x1fa8b8, 0x7cc242, 0xf5b51f, 0xd3241c].map((shade) => new THREE.Color(shade));

export function tintColor(value: number, low: number, high: number, out: THREE.Color): THREE.Color {
  const s = (high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5) * (tints.length - 1);
  const k = Math.min(tints.length - 2, Math.floor(s));
  return out.copy(tints[k]).lerp(tints[k + 1], s - k);
}

/** From where bodies are looked at. */
export interface Eye {
  camera: THREE.PerspectiveCamera;
  /** Of the picture [pixels]. */
  height: number;
  /** Bodies that are smaller than this are points [pixels]; 0: none is. */
  pointsBelow: number;
}

export interface Bodies {
  readonly object: THREE.Object3D;
  move(t: number): void;
  /** Of many bodies, those that are seen, in the detail that their size on the screen allows. */
  see(eye: Eye): void;
  showTrails(shows: boolean): void;
  setOpacity(opacity: number): void;
  /** Of a body, at the time shown last. */
  pose(body: number, position: THREE.Vector3, turn: THREE.Quaternion): void;
  /** The body that a ray meets first. */
  picked(hit: THREE.Intersection): string | null;
}

class Poses {
  readonly position: THREE.Vector3[];
  readonly turn: THREE.Quaternion[];
  at: Between = { i: 0, j: 0, s: 0 };

  constructor(readonly result: Result) {
    this.position = result.bodies.map(() => new THREE.Vector3());
    this.turn = result.bodies.map(() => new THREE.Quaternion());
  }
  move(t: number): void {
    if (this.result.frameTimes.length === 0) return;
    this.at = between(this.result.frameTimes, t);
    this.result.bodies.forEach((body, k) => {
      pointBetween(body.x, this.at, this.position[k]);
      turnBetween(body.q, this.at, this.turn[k]);
    });
  }
}

class Trail {
  readonly path: THREE.Line;
  readonly travelled: THREE.Line;
  private end = 0;

  constructor(private readonly body: Body, private readonly count: number, tint: string) {
    // The point at the present time is the one after the last frame that was passed.
    const positions = new Float32Array(3 * (count + 1));
    positions.set(body.x);
    const whole = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(Float32Array.from(body.x), 3));
    const part = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(positions, 3));
    this.path = new THREE.Line(whole, new THREE.LineBasicMaterial({ color: tint, transparent: true, opacity: 0.18, depthWrite: false }));
    this.travelled = new THREE.Line(part, new THREE.LineBasicMaterial({ color: tint, transparent: true, opacity: 0.8, depthWrite: false }));
    this.path.frustumCulled = this.travelled.frustumCulled = false;
    this.path.renderOrder = this.travelled.renderOrder = 1;
  }
  move(i: number, now: THREE.Vector3): void {
    const { geometry } = this.travelled;
    const positions = geometry.getAttribute("position") as THREE.BufferAttribute;
    const { x } = this.body;
    // Restores the frame that the moving end replaced last time.
    for (const k of [this.end, i]) if (k < this.count) positions.setXYZ(k, x[3 * k], x[3 * k + 1], x[3 * k + 2]);
    this.end = i + 1;
    positions.setXYZ(this.end, now.x, now.y, now.z);
    positions.needsUpdate = true;
    geometry.setDrawRange(0, i + 2);
  }
}

/** One group of meshes per body, and its trail. */
export class SingleBodies implements Bodies {
  readonly object = new THREE.Group();
  private readonly poses: Poses;
  private readonly bodies: THREE.Object3D[];
  private readonly trails: Trail[];

  constructor(private readonly result: Result, tintOf: (k: number) => string, size: number, isGhost: boolean, private readonly isLeftOut: (k: number) => boolean) {
    this.poses = new Poses(result);
    this.bodies = result.bodies.map((body, k) => {
      const object = isLeftOut(k) ? new THREE.Group() : buildShape(body.shapes, tintOf(k), size, isGhost);
      object.traverse((part) => (part.userData.body = body.name));
      return object;
    });
    this.trails = result.bodies.map((body, k) => new Trail(body, result.frameTimes.length, tintOf(k)));
    this.object.add(...this.bodies, ...this.trails.flatMap((trail) => [trail.path, trail.travelled]));
  }

  move(t: number): void {
    if (this.result.frameTimes.length === 0) return;
    this.poses.move(t);
    this.bodies.forEach((object, k) => {
      object.position.copy(this.poses.position[k]);
      object.quaternion.copy(this.poses.turn[k]);
      if (this.trails[k].path.visible) this.trails[k].move(this.poses.at.i, object.position);
    });
  }
  see(): void {
    // A few bodies are always whole.
  }
  showTrails(shows: boolean): void {
    this.trails.forEach((trail, k) => (trail.path.visible = trail.travelled.visible = shows && !this.isLeftOut(k)));
  }
  setOpacity(opacity: number): void {
    for (const body of this.bodies) eachMaterial(body, (material) => fade(material, opacity));
  }
  pose(body: number, position: THREE.Vector3, turn: THREE.Quaternion): void {
    position.copy(this.poses.position[body]);
    turn.copy(this.poses.turn[body]);
  }
  picked(hit: THREE.Intersection): string | null {
    return (hit.object.userData.body as string | undefined) ?? null;
  }
}

/** Bodies of one shape and colour. */
interface Kind {
  bodies: number[];
  parts: { mesh: THREE.InstancedMesh; local: THREE.Matrix4 }[];
  dots: THREE.Points;
  /** Body of each instance that is drawn whole. */
  whole: number[];
  /** Of a ball around the shape. */
  radius: number;
  /** Side of a square, or diameter of a disc, of as many pixels as the shape covers on average. */
  width: number;
}

/** All bodies of one shape and colour as instances of its meshes, small ones as points: thousands of them cost a few calls. */
export class ManyBodies implements Bodies {
  readonly object = new THREE.Group();
  private readonly poses: Poses;
  private readonly kinds: Kind[] = [];

  constructor(private readonly result: Result, tintOf: (k: number) => string, size: number, isGhost: boolean, isLeftOut: (k: number) => boolean) {
    this.poses = new Poses(result);
    const kinds = new Map<string, number[]>();
    result.bodies.forEach((body, k) => {
      if (isLeftOut(k)) return;
      // Nine colours are distinguishable; bodies of one shape share them in groups.
      const key = JSON.stringify([body.shapes, tintOf(k)]);
      const list = kinds.get(key);
      if (list) list.push(k);
      else kinds.set(key, [k]);
    });
    for (const bodies of kinds.values()) {
      const { shapes } = result.bodies[bodies[0]];
      const template = buildShape(shapes, tintOf(bodies[0]), size, isGhost, 12);
      template.updateMatrixWorld(true);
      const parts: Kind["parts"] = [];
      const whole: number[] = [];
      let [surface, radius] = [0, 0];
      const mean = new THREE.Color(0, 0, 0);
      template.traverse((part) => {
        if (!(part instanceof THREE.Mesh)) return;
        const mesh = new THREE.InstancedMesh(part.geometry, part.material, bodies.length);
        mesh.frustumCulled = false;
        mesh.userData.bodies = whole;
        parts.push({ mesh, local: part.matrixWorld.clone() });
        this.object.add(mesh);
        const own = surfaceOf(part.geometry, part.matrixWorld);
        mean.add((part.material as THREE.MeshStandardMaterial).color.clone().multiplyScalar(own.area));
        surface += own.area;
        radius = Math.max(radius, own.radius);
      });
      const isRound = !shapes.every((shape) => "box" in shape);
      // A convex body shows a quarter of its surface, on average over all directions.
      const covered = surface / 4;
      const width = Math.min(2 * radius, Math.sqrt(isRound ? (4 * covered) / Math.PI : covered));
      const dots = new THREE.Points(
        new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * bodies.length), 3)),
        dotMaterial(mean.multiplyScalar(surface > 0 ? meanLight / surface : 0), isRound, isGhost),
      );
      dots.frustumCulled = false;
      this.object.add(dots);
      this.kinds.push({ bodies, parts, dots, whole, radius, width });
    }
  }

  move(t: number): void {
    if (this.result.frameTimes.length > 0) this.poses.move(t);
  }
  see({ camera, height, pointsBelow }: Eye): void {
    camera.updateMatrixWorld();
    const view = new THREE.Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
    const frustum = new THREE.Frustum().setFromProjectionMatrix(view);
    const e = view.elements;
    const scale = height * camera.projectionMatrix.elements[5];
    const [world, placed, one, ball] = [new THREE.Matrix4(), new THREE.Matrix4(), new THREE.Vector3(1, 1, 1), new THREE.Sphere()];
    for (const { bodies, parts, dots, whole, radius, width } of this.kinds) {
      const places = dots.geometry.getAttribute("position") as THREE.BufferAttribute;
      let [slot, dot] = [0, 0];
      ball.radius = radius;
      for (const k of bodies) {
        const { x, y, z } = ball.center.copy(this.poses.position[k]);
        if (!frustum.intersectsSphere(ball)) continue;
        const depth = e[3] * x + e[7] * y + e[11] * z + e[15];
        if (depth > 0 && radius * scale < pointsBelow * depth) {
          places.setXYZ(dot++, x, y, z);
          continue;
        }
        world.compose(this.poses.position[k], this.poses.turn[k], one);
        for (const { mesh, local } of parts) {
          placed.multiplyMatrices(world, local);
          placed.toArray(mesh.instanceMatrix.array, 16 * slot);
        }
        whole[slot++] = k;
      }
      for (const { mesh } of parts) {
        mesh.count = slot;
        mesh.visible = slot > 0;
        mesh.boundingSphere = null;
        mesh.instanceMatrix.clearUpdateRanges();
        mesh.instanceMatrix.addUpdateRange(0, 16 * slot);
        mesh.instanceMatrix.needsUpdate = slot > 0;
      }
      dots.visible = dot > 0;
      dots.geometry.setDrawRange(0, dot);
      places.clearUpdateRanges();
      places.addUpdateRange(0, 3 * dot);
      places.needsUpdate = dot > 0;
      // three.js makes a point of size 1 at distance 1 half as large as the picture is high.
      (dots.material as THREE.PointsMaterial).size = width * camera.projectionMatrix.elements[5];
    }
  }
  showTrails(): void {
    // Thousands of paths hide what moves.
  }
  setOpacity(opacity: number): void {
    eachMaterial(this.object, (material) => fade(material, opacity));
  }
  pose(body: number, position: THREE.Vector3, turn: THREE.Quaternion): void {
    position.copy(this.poses.position[body]);
    turn.copy(this.poses.turn[body]);
  }
  picked(hit: THREE.Intersection): string | null {
    const bodies = hit.object.userData.bodies as number[] | undefined; // of ManyBodies.see, where all are whole
    return bodies && hit.instanceId !== undefined ? this.result.bodies[bodies[hit.instanceId]].name : null;
  }
}

/** Of the colour of a solid that the lamps leave on average. */
const meanLight = 0.75;

function surfaceOf(geometry: THREE.BufferGeometry, place: THREE.Matrix4): { area: number; radius: number } {
  const points = geometry.getAttribute("position");
  const corner = (i: number) => new THREE.Vector3().fromBufferAttribute(points, geometry.index ? geometry.index.getX(i) : i).applyMatrix4(place);
  const count = geometry.index ? geometry.index.count : points.count;
  let [area, radius] = [0, 0];
  for (let i = 0; i + 2 < count; i += 3) {
    const [a, b, c] = [corner(i), corner(i + 1), corner(i + 2)];
    area += new THREE.Triangle(a, b, c).getArea();
    radius = Math.max(radius, a.length(), b.length(), c.length());
  }
  return { area, radius };
}

/** Squares, or balls that are lighter above. */
function dotMaterial(shade: THREE.Color, isRound: boolean, isGhost: boolean): THREE.PointsMaterial {
  const material = new THREE.PointsMaterial({ color: shade, sizeAttenuation: true, transparent: isGhost, opacity: isGhost ? 0.35 : 1, depthWrite: !isGhost });
  if (isRound)
    material.onBeforeCompile = (shader) => {
      shader.fragmentShader = shader.fragmentShader.replace("#include <alphatest_fragment>", `
        vec2 aside = 2.0 * gl_PointCoord - 1.0;
        if (dot(aside, aside) > 1.0) discard;
        diffuseColor.rgb *= 1.0 - 0.35 * aside.y;`);
    };
  return material;
}

function eachMaterial(object: THREE.Object3D, use: (material: THREE.Material) => void): void {
  object.traverse((part) => {
    if (part instanceof THREE.Mesh || part instanceof THREE.LineSegments || part instanceof THREE.Points) for (const material of [part.material].flat()) use(material);
  });
}

function fade(material: THREE.Material, opacity: number): void {
  if (!(material instanceof THREE.MeshStandardMaterial || material instanceof THREE.PointsMaterial)) return;
  material.userData.opacity ??= material.opacity;
  material.opacity = material.userData.opacity * opacity;
  material.transparent = material.opacity < 1;
  material.depthWrite = material.opacity > 0.9;
  material.needsUpdate = true;
}
