// Symbols for states and severities: each has a shape of its own, so no meaning hangs on a colour.

import { s } from "./dom.js";

const RING = "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11Z";

/** Paths in a square of 16; fill or stroke is part of the shape. */
const SHAPES = {
  starting: [["stroke", `${RING}`]],
  joining: [["stroke", `${RING}`], ["fill", "M8 5.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5Z"]],
  training: [["fill", "M4.5 2.8v10.4L13 8Z"]],
  waiting: [["stroke", `${RING} M8 5v3.2l2.2 1.6`]],
  returning: [["stroke", "M12.8 6.2A5.2 5.2 0 1 0 13.2 9"], ["fill", "M14.6 2.6v4.8H9.8Z"]],
  testing: [["stroke", `${RING}`], ["fill", "M8 2.5a5.5 5.5 0 0 1 0 11Z"]],
  done: [["stroke", "M2.8 8.6l3.4 3.6l7-8"]],
  failed: [["stroke", "M3.4 3.4l9.2 9.2M12.6 3.4l-9.2 9.2"]],
  lost: [["stroke", `${RING} M4.2 11.8l7.6-7.6`]],
  unknown: [["stroke", "M4 8h8"]],
  note: [["fill", "M8 6.2a1.8 1.8 0 1 0 0 3.6a1.8 1.8 0 1 0 0-3.6Z"]],
  warning: [["stroke", "M8 2.6L14.2 13.4H1.8Z M8 6.6v3.2 M8 11.2v.6"]],
  problem: [["stroke", "M5.4 2h5.2L14 5.4v5.2L10.6 14H5.4L2 10.6V5.4Z M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4"]],
};

/** Symbol of a state or a severity. It is decoration: the text beside it says the same. */
export function icon(name) {
  return s("svg", { class: `icon icon-${name}`, viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, shape(name));
}

/** Only the paths, for a larger drawing. */
export function shape(name) {
  return (SHAPES[name] ?? SHAPES.unknown).map(([kind, d]) => s("path", { d, class: `shape-${kind}` }));
}

/** All states in the order of a run. */
export const states = ["starting", "joining", "training", "waiting", "returning", "testing", "done", "failed", "lost", "unknown"];
