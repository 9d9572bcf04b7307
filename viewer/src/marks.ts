// Marks beside the bodies: joints by type, springs, dampers, actuators, loads, outputs, names.
import * as THREE from "three";
import type { Bodies } from "./bodies";
import type { Mark, Place } from "./data";
import { along } from "./shapes";

export interface Paints {
  joint: string;
  spring: string;
  damper: string;
  actuator: string;
  output: string;
  text: string;
  surface: string;
}

/** Labels that always face the camera and have a constant size on the screen. */
export function label(text: string, ink: string, paper: string, scale = 1): THREE.Sprite {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d")!;
  const [size, pad] = [44, 10];
  const font = `600 ${size}px system-ui, "DejaVu Sans", sans-serif`;
  pen.font = font;
  canvas.width = Math.ceil(pen.measureText(text).width) + 2 * pad;
  canvas.height = size + 2 * pad;
  pen.font = font;
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 9;
  pen.strokeStyle = paper;
  pen.strokeText(text, pad, canvas.height / 2);
  pen.fillStyle = ink;
  pen.fillText(text, pad, canvas.height / 2);
  const texture = new THREE.CanvasTexture(canvas);
  texture.colorSpace = THREE.SRGBColorSpace;
  const sprite = new THREE.Sprite(new THREE.SpriteMaterial({ map: texture, depthTest: false, depthWrite: false, sizeAttenuation: false, transparent: true }));
  const height = 0.026 * scale;
  sprite.scale.set((height * canvas.width) / canvas.height, height, 1);
  sprite.renderOrder = 20;
  return sprite;
}

/** From −½ to ½ along y, of the given radius in units of its unloaded length. */
function coil(radius: number, thickness: number, turns: number): THREE.BufferGeometry {
  class Helix extends THREE.Curve<THREE.Vector3> {
    constructor() {
      super();
    }
    override getPoint(s: number, out = new THREE.Vector3()): THREE.Vector3 {
      const end = 0.1;
      const u = Math.min(1, Math.max(0, (s - end) / (1 - 2 * end)));
      const angle = 2 * Math.PI * turns * u;
      const r = radius * Math.min(1, 12 * Math.min(s, 1 - s));
      return out.set(r * Math.cos(angle), s - 0.5, r * Math.sin(angle));
    }
  }
  return new THREE.TubeGeometry(new Helix(), 24 * turns, thickness, 6);
}

type Line = "spring" | "damper" | "spring-damper" | "actuator" | "rod" | "measure";

function lineOf(mark: Mark): Line | null {
  if (mark.places.length < 2) return null;
  if (mark.kind === "output") return "measure";
  if (mark.kind === "joint") return mark.type === "distance" ? "rod" : null;
  if (mark.type.includes("actuator")) return "actuator";
  if (mark.type.includes("spring") || mark.type === "bushing") return mark.type.includes("torsional") ? null : "spring-damper";
  return null;
}

/** A line between two moving points. */
class Connector {
  readonly object = new THREE.Group();
  private readonly stretched: THREE.Object3D[] = [];
  private readonly fixed: { part: THREE.Mesh; end: number; length: number }[] = [];
  private readonly dashes: THREE.Line | null = null;

  constructor(readonly mark: Mark, kind: Line, size: number, length: number, paints: Paints) {
    const material = (shade: string) => new THREE.MeshStandardMaterial({ color: shade, roughness: 0.5, metalness: 0.2 });
    const r = Math.min(0.02 * size, 0.16 * length);
    const add = (geometry: THREE.BufferGeometry, shade: string) => {
      const mesh = new THREE.Mesh(geometry, material(shade));
      this.object.add(mesh);
      return mesh;
    };
    if (kind === "measure") {
      const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(6, 3));
      this.dashes = new THREE.Line(geometry, new THREE.LineDashedMaterial({ color: paints.output, dashSize: 0.02 * size, gapSize: 0.012 * size, depthTest: false }));
      this.dashes.frustumCulled = false;
      this.dashes.renderOrder = 8;
      return;
    }
    if (kind === "rod") {
      this.stretched.push(add(new THREE.CylinderGeometry(0.35 * r, 0.35 * r, 1, 12), paints.joint));
      return;
    }
    if (kind === "spring-damper") {
      this.stretched.push(add(coil(r, 0.14 * r, 7), paints.spring));
      return;
    }
    // A cylinder at the first point, a rod that leaves it.
    const barrel = 0.55 * length;
    const mesh = add(new THREE.CylinderGeometry(0.75 * r, 0.75 * r, barrel, 20), paints.actuator);
    this.fixed.push({ part: mesh, end: 0, length: barrel });
    this.stretched.push(add(new THREE.CylinderGeometry(0.32 * r, 0.32 * r, 1, 12), paints.joint));
  }
  get parts(): THREE.Object3D[] {
    return this.dashes ? [this.dashes] : [this.object];
  }
  move(a: THREE.Vector3, b: THREE.Vector3): void {
    if (this.dashes) {
      const positions = this.dashes.geometry.getAttribute("position") as THREE.BufferAttribute;
      positions.setXYZ(0, a.x, a.y, a.z);
      positions.setXYZ(1, b.x, b.y, b.z);
      positions.needsUpdate = true;
      this.dashes.computeLineDistances();
      return;
    }
    const way = b.clone().sub(a);
    const length = way.length();
    this.object.visible = length > 0;
    if (length === 0) return;
    this.object.position.copy(a).addScaledVector(way, 0.5);
    this.object.quaternion.copy(along(way));
    for (const part of this.stretched) part.scale.set(1, length, 1);
    for (const { part, length: own } of this.fixed) {
      const shown = Math.min(own, 0.9 * length);
      part.scale.set(1, shown / own, 1);
      part.position.y = -length / 2 + shown / 2;
    }
  }
}

/** A mesh at the place of a joint, by its type. */
function jointSign(type: string, r: number, material: THREE.Material): THREE.Object3D {
  const group = new THREE.Group();
  const add = (geometry: THREE.BufferGeometry, turn?: (mesh: THREE.Mesh) => void) => {
    const mesh = new THREE.Mesh(geometry, material);
    turn?.(mesh);
    group.add(mesh);
  };
  const axle = () => add(new THREE.CylinderGeometry(0.09 * r, 0.09 * r, 5 * r, 8));
  switch (type) {
    case "revolute": case "rotation": case "angle": case "constant-velocity": case "wheel": case "gear":
      add(new THREE.CylinderGeometry(0.7 * r, 0.7 * r, 1.6 * r, 24));
      axle();
      break;
    case "spherical":
      add(new THREE.SphereGeometry(0.85 * r, 24, 16));
      break;
    case "universal":
      add(new THREE.CylinderGeometry(0.3 * r, 0.3 * r, 2.6 * r, 16));
      add(new THREE.CylinderGeometry(0.3 * r, 0.3 * r, 2.6 * r, 16), (mesh) => mesh.rotateZ(Math.PI / 2));
      break;
    case "prismatic": case "displacement": case "rack-and-pinion":
      add(new THREE.BoxGeometry(1.1 * r, 2.2 * r, 1.1 * r));
      axle();
      break;
    case "cylindrical": case "screw":
      add(new THREE.CylinderGeometry(0.6 * r, 0.6 * r, 2.4 * r, 24, 1, true));
      axle();
      break;
    case "planar": case "point-on-plane":
      add(new THREE.CylinderGeometry(1.5 * r, 1.5 * r, 0.16 * r, 32));
      break;
    case "fixed":
      add(new THREE.BoxGeometry(1.1 * r, 1.1 * r, 1.1 * r));
      break;
    default:
      add(new THREE.TorusGeometry(0.7 * r, 0.2 * r, 10, 24), (mesh) => mesh.rotateX(Math.PI / 2));
  }
  return group;
}

/** Joints, connectors and points of outputs that follow the bodies. */
export class Marks {
  readonly object = new THREE.Group();
  private readonly signs: { object: THREE.Object3D; place: Place; turn: THREE.Quaternion }[] = [];
  private readonly lines: { connector: Connector; a: Place; b: Place }[] = [];
  private readonly names: { object: THREE.Object3D; places: Place[] }[] = [];
  /** Axes of the bodies, shown with their names. */
  private readonly frames: THREE.AxesHelper[] = [];

  constructor(marks: Mark[], private readonly bodies: Bodies, bodyNames: string[], size: number, paints: Paints) {
    const steel = new THREE.MeshStandardMaterial({ color: paints.joint, roughness: 0.4, metalness: 0.4 });
    const crowd = Math.cbrt(Math.max(1, marks.length / 4));
    const r = (0.028 * size) / crowd;
    const [a, b] = [new THREE.Vector3(), new THREE.Vector3()];
    for (const mark of marks) {
      const kind = lineOf(mark);
      if (kind) {
        const [first, second] = mark.places;
        const length = this.place(first, a).distanceTo(this.place(second, b)) || size;
        const connector = new Connector(mark, kind, size, length, paints);
        this.lines.push({ connector, a: first, b: second });
        this.object.add(...connector.parts);
      } else if (mark.kind === "joint" && mark.places.length > 0) {
        const object = jointSign(mark.type, r, steel);
        const axis = new THREE.Vector3(...mark.axis);
        const place = mark.places[mark.places.length - 1];
        this.signs.push({ object, place, turn: axis.lengthSq() > 0 ? along(axis) : new THREE.Quaternion() });
        this.object.add(object);
      } else if (mark.places.length > 0) {
        const shade = mark.kind === "output" ? paints.output : paints.actuator;
        const material = new THREE.MeshBasicMaterial({ color: shade, depthTest: false });
        const object = mark.type === "angle" || mark.type.includes("tor")
          ? new THREE.Mesh(new THREE.TorusGeometry(1.5 * r, 0.12 * r, 8, 40, 1.5 * Math.PI), material)
          : new THREE.Mesh(new THREE.OctahedronGeometry(0.5 * r), material);
        object.renderOrder = 8;
        const axis = new THREE.Vector3(...mark.axis);
        const turn = axis.lengthSq() > 0 ? new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), axis.normalize()) : new THREE.Quaternion();
        this.signs.push({ object, place: mark.places[mark.places.length - 1], turn });
        this.object.add(object);
      }
      if (mark.places.length > 0 && marks.length <= 60) this.name(mark.name, mark.kind === "output" ? paints.output : mark.kind === "force" ? paints.actuator : paints.joint, paints, mark.places, 0.8);
    }
    if (bodyNames.length <= 60)
      this.frames = bodyNames.map(() => {
        const frame = new THREE.AxesHelper(0.09 * size);
        (frame.material as THREE.LineBasicMaterial).depthTest = false;
        frame.renderOrder = 9;
        this.object.add(frame);
        return frame;
      });
    if (bodyNames.length <= 60) bodyNames.forEach((name, body) => this.name(name, paints.text, paints, [{ body, at: [0, 0, 0] }], 1));
  }
  private name(text: string, ink: string, paints: Paints, places: Place[], scale: number): void {
    const object = label(text, ink, paints.surface, scale);
    this.names.push({ object, places });
    this.object.add(object);
  }

  private readonly x = new THREE.Vector3();
  private readonly q = new THREE.Quaternion();
  private place({ body, at }: Place, out: THREE.Vector3): THREE.Vector3 {
    if (body < 0) return out.set(...at);
    this.bodies.pose(body, this.x, this.q);
    return out.set(...at).applyQuaternion(this.q).add(this.x);
  }

  move(showsParts: boolean, showsNames: boolean): void {
    const [a, b] = [new THREE.Vector3(), new THREE.Vector3()];
    for (const { object, place, turn } of this.signs) {
      object.visible = showsParts;
      if (!showsParts) continue;
      this.place(place, object.position);
      if (place.body >= 0) object.quaternion.multiplyQuaternions(this.q, turn);
      else object.quaternion.copy(turn);
    }
    for (const line of this.lines) {
      for (const part of line.connector.parts) part.visible = showsParts;
      if (showsParts) line.connector.move(this.place(line.a, a), this.place(line.b, b));
    }
    this.frames.forEach((frame, body) => {
      frame.visible = showsNames;
      if (showsNames) this.bodies.pose(body, frame.position, frame.quaternion);
    });
    for (const { object, places } of this.names) {
      object.visible = showsNames;
      if (!showsNames) continue;
      object.position.set(0, 0, 0);
      for (const place of places) object.position.addScaledVector(this.place(place, a), 1 / places.length);
    }
  }
}
