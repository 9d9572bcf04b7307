// Rods: their section swept along the nodes, coloured by a quantity that is known along them.
import * as THREE from "three";
import { between, pointBetween, tintColor, turnBetween, type Between } from "./bodies";
import type { Result, Rod } from "./data";

/** Rings between two nodes; the shape between them is a cubic whose ends are perpendicular to the sections. */
const ringsBetween = 6;
const sidesOfCircle = 14;

/** A quantity along all rods, at their nodes. */
export interface RodField {
  name: string;
  unit: string;
  range: [number, number];
  /** Per rod: one number per node, frame by frame; null where it is not known. */
  values: (Float32Array | null)[];
}

/** Linear between the places where it is known, constant beyond them. */
function alongRod(at: number[], values: ArrayLike<number>, s: number): number {
  if (s <= at[0]) return values[0];
  for (let k = 1; k < at.length; ++k)
    if (s <= at[k]) return at[k] > at[k - 1] ? values[k - 1] + ((s - at[k - 1]) / (at[k] - at[k - 1])) * (values[k] - values[k - 1]) : values[k];
  return values[at.length - 1];
}

function nodePose(result: Result, rod: Rod, node: number, at: Between, x: THREE.Vector3, q: THREE.Quaternion): void {
  const body = result.bodies[rod.bodies[node]];
  turnBetween(body.q, at, q);
  pointBetween(body.x, at, x);
  x.add(new THREE.Vector3(...rod.axis[node]).applyQuaternion(q));
}

/** Bending and twist from the turn between neighbours, stretch from their distance. */
function fromPoses(result: Result, measure: (turn: number, way: number, length: number) => number): (Float32Array | null)[] {
  const frames = result.frameTimes.length;
  return result.rods.map((rod) => {
    const n = rod.bodies.length;
    const out = new Float32Array(frames * n);
    const [x0, x1, q0, q1] = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Quaternion(), new THREE.Quaternion()];
    for (let i = 0; i < frames; ++i) {
      const at = { i, j: i, s: 0 };
      for (let k = 0; k + 1 < n; ++k) {
        nodePose(result, rod, k, at, x0, q0);
        nodePose(result, rod, k + 1, at, x1, q1);
        const corner = rod.turned.get(k);
        if (corner) q0.multiply(corner);
        const value = measure(q0.angleTo(q1), x0.distanceTo(x1), rod.at[k + 1] - rod.at[k]);
        // A node has the mean of its two neighbours.
        out[i * n + k] += (k === 0 ? 1 : 0.5) * value;
        out[i * n + k + 1] += (k + 2 === n ? 1 : 0.5) * value;
      }
    }
    return out;
  });
}

/** Section forces come before section moments in the units of an output that has both. */
function unitOf(component: string, units: string): string {
  const words = units.split(", ");
  return words.length < 2 ? units : /^(M|T|k)/.test(component) ? words[1] : words[0];
}

/** Quantities that can colour the rods: those that the result reports along them, then those computed from their nodes. */
export function fieldsOf(result: Result): RodField[] {
  if (result.rods.length === 0) return [];
  const names = [...new Set(result.rods.flatMap((rod) => rod.quantities.map((quantity) => quantity.name)))];
  const reported = names.map((name) => {
    const column = result.series.find((series) => result.rods.some((rod) => series.name.startsWith(`${rod.name}@`)) && series.name.endsWith(`.${name}`));
    const values = result.rods.map((rod) => {
      const quantity = rod.quantities.find((one) => one.name === name);
      if (!quantity || quantity.at.length === 0) return null;
      const places = quantity.at.length;
      const out = new Float32Array(result.frameTimes.length * rod.at.length);
      for (let i = 0; i < result.frameTimes.length; ++i) {
        const known = quantity.values.subarray(i * places, (i + 1) * places);
        rod.at.forEach((s, k) => (out[i * rod.at.length + k] = alongRod(quantity.at, known, s)));
      }
      return out;
    });
    return { name, unit: unitOf(name, column?.unit ?? ""), values };
  });
  const fields = [
    ...reported,
    { name: "curvature", unit: "1/m", values: fromPoses(result, (turn, _, length) => turn / length) },
    { name: "stretch", unit: "", values: fromPoses(result, (_, way, length) => way / length - 1) },
  ];
  return fields.map((field) => ({ ...field, range: rangeOf(field.values) }));
}

function rangeOf(values: (Float32Array | null)[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const list of values)
    for (const value of list ?? []) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  return low <= high ? [low, high] : [0, 1];
}

/** Corners of the section in its plane with their normals; where two normals differ, the corner comes twice. */
function outlineOf({ section }: Rod, thinnest: number): { y: number; z: number; ny: number; nz: number }[] {
  if (section.kind === "rectangle") {
    const [y, z] = [Math.max(section.y / 2, thinnest), Math.max(section.z / 2, thinnest)];
    const corners = [[y, -z], [y, z], [-y, z], [-y, -z]];
    const normals = [[1, 0], [0, 1], [-1, 0], [0, -1]];
    return normals.flatMap(([ny, nz], k) => [corners[k], corners[(k + 1) % 4]].map(([cy, cz]) => ({ y: cy, z: cz, ny, nz })));
  }
  const radius = Math.max(section.radius, thinnest);
  return Array.from({ length: sidesOfCircle + 1 }, (_, k) => {
    const angle = (k / sidesOfCircle) * 2 * Math.PI;
    return { y: radius * Math.cos(angle), z: radius * Math.sin(angle), ny: Math.cos(angle), nz: Math.sin(angle) };
  });
}

class RodMesh {
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;
  private readonly outline: ReturnType<typeof outlineOf>;
  private readonly rings: number;

  constructor(private readonly result: Result, private readonly rod: Rod, private readonly number: number, private readonly tint: string, thinnest: number, isGhost: boolean) {
    this.outline = outlineOf(rod, thinnest);
    const m = this.outline.length;
    this.rings = (rod.bodies.length - 1) * (ringsBetween + 1);
    const count = this.rings * m;
    const geometry = new THREE.BufferGeometry();
    for (const name of ["position", "normal", "color"]) geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * count), 3));
    const faces: number[] = [];
    const step = rod.section.kind === "rectangle" ? 2 : 1;
    for (let ring = 0; ring + 1 < this.rings; ++ring)
      for (let k = 0; k + 1 < m; k += step) {
        const [a, b, c, d] = [ring * m + k, ring * m + k + 1, (ring + 1) * m + k, (ring + 1) * m + k + 1];
        faces.push(a, c, b, b, c, d);
      }
    geometry.setIndex(faces);
    const material = new THREE.MeshStandardMaterial({ vertexColors: true, roughness: 0.55, metalness: 0.05, side: THREE.DoubleSide, transparent: isGhost, opacity: isGhost ? 0.4 : 1 });
    this.mesh = new THREE.Mesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.userData.rod = number;
  }

  nodeOf(vertex: number): number {
    return Math.min(this.rod.bodies.length - 1, Math.round(Math.floor(vertex / this.outline.length) / (ringsBetween + 1)));
  }

  move(at: Between, field: RodField | null): void {
    const { rod, result, outline } = this;
    const position = this.mesh.geometry.getAttribute("position") as THREE.BufferAttribute;
    const normal = this.mesh.geometry.getAttribute("normal") as THREE.BufferAttribute;
    const shade = this.mesh.geometry.getAttribute("color") as THREE.BufferAttribute;
    const values = field?.values[this.number] ?? null;
    const n = rod.bodies.length;
    const valueAt = (node: number) => (values ? values[at.i * n + node] + at.s * (values[at.j * n + node] - values[at.i * n + node]) : 0);
    const plain = new THREE.Color(this.tint);
    const paint = new THREE.Color();
    const [x0, x1, x, d0, d1, y, z] = Array.from({ length: 7 }, () => new THREE.Vector3());
    const [q0, q1, q] = Array.from({ length: 3 }, () => new THREE.Quaternion());
    let vertex = 0;
    for (let k = 0; k + 1 < n; ++k) {
      nodePose(result, rod, k, at, x0, q0);
      nodePose(result, rod, k + 1, at, x1, q1);
      const corner = rod.turned.get(k);
      if (corner) q0.multiply(corner);
      const length = rod.at[k + 1] - rod.at[k];
      d0.set(length, 0, 0).applyQuaternion(q0);
      d1.set(length, 0, 0).applyQuaternion(q1);
      for (let ring = 0; ring <= ringsBetween; ++ring) {
        const s = ring / ringsBetween;
        const r = 1 - s;
        x.copy(x0).multiplyScalar(r * r * (1 + 2 * s)).addScaledVector(x1, s * s * (1 + 2 * r)).addScaledVector(d0, s * r * r).addScaledVector(d1, -s * s * r);
        q.copy(q0).slerp(q1, s);
        y.set(0, 1, 0).applyQuaternion(q);
        z.set(0, 0, 1).applyQuaternion(q);
        if (values && field) tintColor(r * valueAt(k) + s * valueAt(k + 1), ...field.range, paint);
        else paint.copy(plain);
        for (const c of outline) {
          position.setXYZ(vertex, x.x + c.y * y.x + c.z * z.x, x.y + c.y * y.y + c.z * z.y, x.z + c.y * y.z + c.z * z.z);
          normal.setXYZ(vertex, c.ny * y.x + c.nz * z.x, c.ny * y.y + c.nz * z.y, c.ny * y.z + c.nz * z.z);
          shade.setXYZ(vertex++, paint.r, paint.g, paint.b);
        }
      }
    }
    position.needsUpdate = normal.needsUpdate = shade.needsUpdate = true;
    this.mesh.geometry.boundingSphere = null;
  }
}

/** All rods of a result. */
export class Rods {
  readonly object = new THREE.Group();
  private readonly meshes: RodMesh[];
  private field: RodField | null = null;

  /** `thinnest`: half the least thickness that is drawn, so that colours are visible on wires. */
  constructor(private readonly result: Result, tintOf: (k: number) => string, thinnest: number, isGhost: boolean) {
    this.meshes = result.rods.map((rod, k) => new RodMesh(result, rod, k, tintOf(rod.bodies[0]), thinnest, isGhost));
    for (const { mesh } of this.meshes) this.object.add(mesh);
  }
  setField(field: RodField | null): void {
    this.field = field;
  }
  setOpacity(opacity: number): void {
    for (const { mesh } of this.meshes) {
      mesh.material.userData.opacity ??= mesh.material.opacity;
      mesh.material.opacity = mesh.material.userData.opacity * opacity;
      mesh.material.transparent = mesh.material.opacity < 1;
      mesh.material.needsUpdate = true;
    }
  }
  move(t: number): void {
    if (this.result.frameTimes.length === 0) return;
    const at = between(this.result.frameTimes, t);
    for (const mesh of this.meshes) mesh.move(at, this.field);
  }
  picked(hit: THREE.Intersection): string | null {
    const number = hit.object.userData.rod as number | undefined;
    if (number === undefined || !hit.face || !this.meshes.some(({ mesh }) => mesh === hit.object)) return null;
    return this.result.bodies[this.result.rods[number].bodies[this.meshes[number].nodeOf(hit.face.a)]].name;
  }
}

/** Numbers of the bodies that are nodes of rods and nothing else: the rod is drawn instead of them. */
export function nodesOf(result: Result): Set<number> {
  return new Set(result.rods.flatMap((rod) => rod.bodies.filter((k) => result.bodies[k]?.name.startsWith(`${rod.name}.`))));
}
