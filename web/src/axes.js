// The horizontal axes that all curves share, and the part of them that is shown.

import { bytes, count, number, seconds } from "./format.js";

const AXES = {
  rounds: { column: "round", label: "rounds", format: count, whole: true },
  seconds: { column: "time_s", label: "seconds", format: seconds },
  bytes: { column: "bytes", label: "bytes sent by a peer, mean", format: bytes },
};

export const axisChoices = [["rounds", "Rounds"], ["seconds", "Seconds"], ["bytes", "Bytes"]];

/** The axis of a name, logarithmic or not. */
export function axisOf(name, log, virtual) {
  const axis = AXES[name];
  return { ...axis, log, label: name === "seconds" && virtual ? "seconds of virtual time" : axis.label };
}

/** A vertical axis of plain numbers. */
export const plain = (log, more) => ({ format: number, log, ...more });
