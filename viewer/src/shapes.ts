// Meshes of the bodies, from the shapes of the model, in the body frame, origin at the centre of mass.
import * as THREE from "three";
import { bytesOf } from "./data";
import type { Shape, Vec3 } from "./data";

interface Paint {
  base: THREE.Material;
  mark: THREE.Material;
}

type Parameters = Record<string, unknown>;

function positive(value: unknown, otherwise: number): number {
  return typeof value === "number" && value > 0 && Number.isFinite(value) ? value : otherwise;
}

function vector(value: unknown, otherwise: Vec3): THREE.Vector3 {
  const ok = Array.isArray(value) && value.length === 3 && value.every((v) => Number.isFinite(v));
  return new THREE.Vector3(...((ok ? value : otherwise) as Vec3));
}

/** A quaternion x, y, z, w. */
function rotation(value: unknown): THREE.Quaternion {
  const ok = Array.isArray(value) && value.length === 4 && value.every((v) => Number.isFinite(v));
  return ok ? new THREE.Quaternion(...(value as [number, number, number, number])).normalize() : new THREE.Quaternion();
}

/** Turns the y axis, along which three.js builds round shapes, into `axis`. */
export function along(axis: THREE.Vector3): THREE.Quaternion {
  const unit = axis.lengthSq() > 0 ? axis.clone().normalize() : new THREE.Vector3(0, 1, 0);
  return new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), unit);
}

/** Sides of round shapes, in the shape that is being built. */
let segments = 48;

/** A round body of which a quarter is marked, so that its spin is visible. */
function turned(profile: THREE.Vector2[], paint: Paint): THREE.Group {
  const group = new THREE.Group();
  const quarters = 4;
  for (let i = 0; i < quarters; ++i) {
    const geometry = new THREE.LatheGeometry(profile, segments / quarters, (i * 2 * Math.PI) / quarters, (2 * Math.PI) / quarters);
    group.add(new THREE.Mesh(geometry, i % 2 === 0 ? paint.base : paint.mark));
  }
  return group;
}

function points(...pairs: [number, number][]): THREE.Vector2[] {
  return pairs.map(([radius, height]) => new THREE.Vector2(radius, height));
}

/** Corners stay sharp: a lathe smooths between points that are apart. */
function sharp(corners: THREE.Vector2[]): THREE.Vector2[] {
  const out: THREE.Vector2[] = [];
  for (let i = 0; i < corners.length; ++i) {
    const [before, corner, after] = [corners[i - 1], corners[i], corners[i + 1]];
    if (before) out.push(corner.clone().lerp(before, Math.min(0.5, 1e-3 / Math.max(corner.distanceTo(before), 1e-9))));
    out.push(corner);
    if (after) out.push(corner.clone().lerp(after, Math.min(0.5, 1e-3 / Math.max(corner.distanceTo(after), 1e-9))));
  }
  return out;
}

/** From the centre of mass to a point of the body frame. */
function rod(to: THREE.Vector3, radius: number, paint: Paint): THREE.Object3D {
  const mesh = new THREE.Mesh(new THREE.CylinderGeometry(radius, radius, to.length(), 16), paint.mark);
  mesh.quaternion.copy(along(to));
  mesh.position.copy(to).multiplyScalar(0.5);
  return mesh;
}

const builders: Record<string, (p: Parameters, paint: Paint) => THREE.Object3D> = {
  box(p, paint) {
    const size = vector(p.size, [1, 1, 1]);
    const group = new THREE.Group();
    const geometry = new THREE.BoxGeometry(size.x, size.y, size.z);
    group.add(new THREE.Mesh(geometry, paint.base), new THREE.LineSegments(new THREE.EdgesGeometry(geometry), edgeMaterial));
    group.quaternion.copy(rotation(p.rotation));
    return group;
  },
  cylinder(p, paint) {
    const radius = positive(p.radius, 0.1);
    const half = positive(p.length, 1) / 2;
    const group = turned(sharp(points([0, -half], [radius, -half], [radius, half], [0, half])), paint);
    group.quaternion.copy(along(vector(p.axis, [0, 0, 1])));
    return group;
  },
  /** `length` is that of the straight part. */
  capsule(p, paint) {
    const radius = positive(p.radius, 0.1);
    const half = positive(p.length, 1) / 2;
    const rows = Math.max(3, segments / 4);
    const arc = Array.from({ length: rows + 1 }, (_, i) => ((i / rows) * Math.PI) / 2);
    const cap = arc.map((a) => new THREE.Vector2(radius * Math.cos(a), half + radius * Math.sin(a)));
    const foot = arc.map((a) => new THREE.Vector2(radius * Math.cos(a), -half - radius * Math.sin(a))).reverse();
    const group = turned([...foot, ...cap], paint);
    group.quaternion.copy(along(vector(p.axis, [0, 0, 1])));
    return group;
  },
  sphere(p, paint) {
    const radius = positive(p.radius, 0.1);
    const rows = Math.max(6, segments / 2);
    const arc = Array.from({ length: rows + 1 }, (_, i) => (i / rows - 0.5) * Math.PI);
    const group = turned(arc.map((a) => new THREE.Vector2(radius * Math.cos(a), radius * Math.sin(a))), paint);
    if (p.rod !== undefined) group.add(rod(vector(p.rod, [0, 0, 1]), 0.12 * radius, paint));
    return group;
  },
  /** The tip points along the axis; the centre of mass is a quarter of the height above the base. */
  cone(p, paint) {
    const radius = positive(p.radius, 0.2);
    const height = positive(p.length, 1);
    const group = turned(sharp(points([0, -height / 4], [radius, -height / 4], [0, (3 * height) / 4])), paint);
    group.quaternion.copy(along(vector(p.axis, [0, 0, 1])));
    return group;
  },
  /** Triangles: points and the numbers of their corners, little endian, in base 64. */
  mesh(p, paint) {
    const points = typeof p.points === "string" ? new Float32Array(bytesOf(p.points)) : new Float32Array();
    const corners = typeof p.corners === "string" ? new Uint32Array(bytesOf(p.corners)) : new Uint32Array();
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
    geometry.setIndex(new THREE.BufferAttribute(corners, 1));
    const material = (paint.base as THREE.MeshStandardMaterial).clone();
    material.flatShading = true;
    const mesh = new THREE.Mesh(geometry, material);
    mesh.quaternion.copy(rotation(p.rotation));
    return mesh;
  },
  /** A spinning top on a thin stem; `tip` is where it stands, seen from the centre of mass. */
  top(p, paint) {
    const tip = vector(p.tip, [0, 0, -1]);
    const height = tip.length() || 1;
    const r = positive(p.radius, 0.45 * height);
    const stem = 0.035 * height;
    const d = 0.16 * height;
    const corners = points(
      [0, -height], [stem * 0.9, -0.9 * height], [stem, -2.2 * d], [0.3 * r, -1.5 * d], [0.86 * r, -0.55 * d], [r, -0.2 * d],
      [r, 0.2 * d], [0.86 * r, 0.5 * d], [0.3 * r, 0.8 * d], [stem, 1.15 * d], [stem, 2.6 * d], [0, 2.6 * d],
    );
    const group = turned(sharp(corners), paint);
    group.quaternion.copy(along(tip.clone().negate()));
    return group;
  },
};

const edgeMaterial = new THREE.LineBasicMaterial({ color: 0x000000, transparent: true, opacity: 0.35 });

/** Colours as CSS writes them; `otherwise` for anything else. */
function tinted(value: unknown, otherwise: THREE.ColorRepresentation): THREE.Color {
  const known = typeof value === "string" && CSS.supports("color", value);
  return new THREE.Color(known ? value : otherwise);
}

/** The shapes, or a small box of `size` where the model names none. */
export function buildShape(shapes: Shape[], tint: THREE.ColorRepresentation, size: number, isGhost: boolean, roundness = 48): THREE.Object3D {
  segments = roundness;
  const material = (shade: THREE.Color) =>
    new THREE.MeshStandardMaterial({
      color: shade,
      roughness: 0.55,
      metalness: 0.05,
      side: THREE.DoubleSide,
      transparent: isGhost,
      opacity: isGhost ? 0.35 : 1,
      depthWrite: !isGhost,
      // Edges lie in front of their faces.
      polygonOffset: true,
      polygonOffsetFactor: 1,
      polygonOffsetUnits: 1,
    });
  const paintOf = (base: THREE.Color) => ({ base: material(base), mark: material(base.clone().lerp(new THREE.Color(0xffffff), 0.62)) });
  const body = new THREE.Group();
  for (const [name, parameters] of shapes.flatMap((shape) => Object.entries(shape))) {
    const build = Object.prototype.hasOwnProperty.call(builders, name) ? builders[name] : undefined;
    if (!build) continue;
    const placed = new THREE.Group();
    placed.position.copy(vector(parameters?.at, [0, 0, 0]));
    placed.add(build(parameters ?? {}, paintOf(tinted(isGhost ? null : parameters?.color, tint))));
    body.add(placed);
  }
  if (body.children.length === 0) body.add(builders.box({ size: [size, size, size] }, paintOf(new THREE.Color(tint))));
  return body;
}

/** A shaft with a head along +y, of length 1 until scaled. */
export class Arrow extends THREE.Group {
  private readonly shaft: THREE.Mesh;
  private readonly head: THREE.Mesh;
  private readonly thickness: number;

  constructor(material: THREE.Material, thickness: number) {
    super();
    this.thickness = thickness;
    this.shaft = new THREE.Mesh(new THREE.CylinderGeometry(thickness, thickness, 1, 12), material);
    this.head = new THREE.Mesh(new THREE.ConeGeometry(3 * thickness, 8 * thickness, 16), material);
    this.add(this.shaft, this.head);
  }

  point(from: THREE.Vector3, direction: THREE.Vector3): void {
    const length = direction.length();
    const headLength = Math.min(8 * this.thickness, 0.6 * length);
    this.visible = length > 0.5 * this.thickness;
    if (!this.visible) return;
    this.position.copy(from);
    this.quaternion.copy(along(direction));
    this.shaft.scale.set(1, length - headLength, 1);
    this.shaft.position.y = (length - headLength) / 2;
    this.head.scale.setScalar(headLength / (8 * this.thickness));
    this.head.position.y = length - headLength / 2;
  }
}
