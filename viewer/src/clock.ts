// The time that plots and animation share.
import { lastNotAbove } from "./data";

export const speeds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];

/** Initial duration of one playback [s], approximately. */
const comfortable = 10;

export class Clock {
  private listeners: (() => void)[] = [];
  private now: number;
  private hovered: number | null = null;
  private lastFrame = 0;
  private isRunning = false;
  speed: number;

  /** `stops` are the times that the arrow keys step through: the points of the result. */
  constructor(public stops: Float64Array) {
    this.now = this.begin;
    const wanted = (this.end - this.begin) / comfortable;
    this.speed = speeds.reduce((best, s) => (Math.abs(Math.log(s / wanted)) < Math.abs(Math.log(best / wanted)) ? s : best));
  }

  get begin(): number {
    return this.stops[0] ?? 0;
  }
  get end(): number {
    return this.stops[this.stops.length - 1] ?? 0;
  }
  get t(): number {
    return this.now;
  }
  /** The time to show: that under the pointer while the animation is paused. */
  get shown(): number {
    return this.hovered !== null && !this.isRunning ? this.hovered : this.now;
  }
  get playing(): boolean {
    return this.isRunning;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  set(t: number): void {
    this.now = Math.min(this.end, Math.max(this.begin, t));
    this.notify();
  }
  hover(t: number | null): void {
    if (t === this.hovered) return;
    this.hovered = t === null ? null : Math.min(this.end, Math.max(this.begin, t));
    if (!this.isRunning) this.notify();
  }
  setSpeed(speed: number): void {
    this.speed = speed;
    this.notify();
  }

  /** Moves by `count` points of the result. */
  step(count: number): void {
    this.pause();
    const i = lastNotAbove(this.stops, this.now);
    const isBetween = this.stops[i] < this.now;
    const next = i + count + (count < 0 && isBetween ? 1 : 0);
    this.set(this.stops[Math.min(this.stops.length - 1, Math.max(0, next))] ?? 0);
  }

  /** Other points of the same run; a clock at the end stays at the end. */
  extend(stops: Float64Array): void {
    const wasAtEnd = this.now >= this.end && this.stops.length > 1;
    this.stops = stops;
    this.now = wasAtEnd ? this.end : Math.min(this.end, Math.max(this.begin, this.now));
    this.notify();
  }

  toggle(): void {
    if (this.isRunning) this.pause();
    else this.play();
  }
  play(): void {
    if (this.isRunning) return;
    if (this.now >= this.end) this.now = this.begin;
    this.isRunning = true;
    this.lastFrame = performance.now();
    this.due = requestAnimationFrame(this.frame);
    this.notify();
  }
  pause(): void {
    if (!this.isRunning) return;
    this.isRunning = false;
    cancelAnimationFrame(this.due);
    this.notify();
  }
  private due = 0;

  private frame = (at: number): void => {
    if (!this.isRunning) return;
    const elapsed = Math.max(0, at - this.lastFrame) / 1000;
    this.lastFrame = at;
    this.now += this.speed * elapsed;
    if (this.now >= this.end) {
      this.now = this.end;
      this.isRunning = false;
    } else {
      this.due = requestAnimationFrame(this.frame);
    }
    this.notify();
  };

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}
