// How much detail a machine can draw while things move.

/** What is drawn in less detail: bodies smaller than this are points [pixels], of a picture with this part of its pixels per edge. */
export const levels = [
  { pointsBelow: 4, resolution: 1 },
  { pointsBelow: 10, resolution: 1 },
  { pointsBelow: 20, resolution: 0.75 },
  { pointsBelow: 40, resolution: 0.5 },
];

/** A motion is smooth from 30 pictures per second on [ms]. */
const goodTime = 1000 / 30;

/** Pictures that are measured before the detail changes. */
const few = 4;

/** Chooses the level from the times that pictures take. What stands still is always drawn in full detail. */
export class Pace {
  level = 0;
  private times: number[] = [];

  /** Of the pictures of a motion; true: the level has changed. */
  took(time: number): boolean {
    // A page that nobody sees gets no pictures at all.
    if (!(time < 10_000)) return false;
    this.times.push(time);
    const mean = this.times.reduce((sum, one) => sum + one, 0) / this.times.length;
    if (this.times.length < few && mean < few * goodTime) return false;
    const before = this.level;
    if (mean > 1.2 * goodTime) this.level = Math.min(levels.length - 1, this.level + (mean > few * goodTime ? 2 : 1));
    this.times = [];
    return this.level !== before;
  }
  /** After a rest: perhaps the machine had other work. */
  rested(): void {
    this.times = [];
    this.level = Math.max(0, this.level - 1);
  }
}
