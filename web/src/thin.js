// Curves with far more points than pixels: per pixel column, the smallest and the largest value stay. The drawn curve
// is the same, and its cost depends on the width of the chart, not on the length of the run.

import { lowerBound } from "./columns.js";

/**
 * Tables for uPlot: one ascending column of x, then one column of y per curve, null where a curve has no point.
 * A curve is { x, y } with ascending x. Range is { min, max, log } of the x axis, width its pixels.
 */
export function table(curves, range, width) {
  const parts = curves.map(({ x, y }) => {
    const from = Math.max(0, lowerBound(x, range.min) - 1); // one point beyond each side: lines leave the chart
    const to = Math.min(x.length, lowerBound(x, range.max) + 1);
    return { x: x.subarray(from, to), y: y.subarray(from, to) };
  });
  return parts.some(({ x }) => x.length > 2 * width) ? binned(parts, range, width) : joined(parts);
}

/** All points of all curves, over the union of their x. */
function joined(parts) {
  const union = new Set();
  for (const { x } of parts) {
    for (let i = 0; i < x.length; i++) {
      union.add(x[i]);
    }
  }
  const xs = Float64Array.from(union).sort();
  return [xs, ...parts.map(({ x, y }) => spread(xs, x, y))];
}

function spread(xs, x, y) {
  const out = new Array(xs.length).fill(null);
  let at = 0;
  for (let i = 0; i < x.length; i++) {
    while (xs[at] < x[i]) {
      at++;
    }
    out[at] = Number.isFinite(y[i]) ? y[i] : null;
  }
  return out;
}

/** Smallest and largest value of each pixel column, in the order in which they occur. */
function binned(parts, range, width) {
  const scale = range.log ? Math.log : (x) => x;
  const back = range.log ? Math.exp : (x) => x;
  const [start, end] = [scale(range.min), scale(range.max)];
  const step = (end - start) / width;
  const xs = new Float64Array(2 * width + 4);
  for (let bin = -1; bin <= width; bin++) {
    xs[2 * (bin + 1)] = back(start + (bin + 0.25) * step);
    xs[2 * (bin + 1) + 1] = back(start + (bin + 0.75) * step);
  }
  return [xs, ...parts.map((part) => extremes(part, width, (x) => Math.floor((scale(x) - start) / step)))];
}

function extremes({ x, y }, width, binOf) {
  const out = new Array(2 * width + 4).fill(null);
  let [bin, low, high] = [-2, -1, -1]; // the bin, and where its extremes are
  const close = () => {
    if (low >= 0) {
      const at = 2 * (bin + 1);
      out[at] = y[Math.min(low, high)];
      out[at + 1] = y[Math.max(low, high)];
    }
  };
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(y[i])) {
      continue;
    }
    const next = Math.max(-1, Math.min(width, binOf(x[i])));
    if (next !== bin) {
      close();
      [bin, low, high] = [next, i, i];
    } else if (y[i] < y[low]) {
      low = i;
    } else if (y[i] > y[high]) {
      high = i;
    }
  }
  close();
  return out;
}
