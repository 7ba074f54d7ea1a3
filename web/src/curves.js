// The views of the three charts: which curves they have, made of the columns of a run.

import { lowerBound } from "./columns.js";
import { axisOf, plain } from "./axes.js";
import { number, percent, seconds } from "./format.js";

const BINS = 120; // maximum number of parts of the axis over which the layers of a stack are means

/**
 * The loss, or the accuracy: of the run, of chosen workers { rank, series, columns }, and of the overlaid runs
 * { name, series, curve, scores }. Settings are { quantity, axis, logX, logY }.
 */
export function lossView(run, settings, workers, overlays) {
  const axis = axisOf(settings.axis, settings.logX, run.about?.virtual);
  const accuracy = settings.quantity === "accuracy";
  const y = accuracy ? { format: number, log: false } : plain(settings.logY);
  const curves = accuracy ? accuracyCurves(run, axis) : lossCurves(run, axis);
  for (const { rank, series, columns } of accuracy ? [] : workers) {
    curves.push({ name: `Peer ${rank}`, series, width: 1.25, x: columns.column(axis.column), y: columns.column("loss") });
  }
  for (const { name, series, curve, scores } of overlays) {
    const columns = accuracy ? scores : curve;
    const y = columns.column(accuracy ? "accuracy" : "loss");
    curves.push({ name, series, width: 1.5, points: accuracy, x: columns.column(axis.column), y });
  }
  return { x: axis, y, curves };
}

function lossCurves({ curve, scores, about }, axis) {
  const x = curve.column(axis.column);
  const many = about?.workers !== 1;
  const range = many ? [{ series: 0, band: true, x, y: curve.column("loss_max") }, { series: 0, x, y: curve.column("loss_min") }] : [];
  return [
    ...range,
    { name: many ? "Training, mean and range of the peers" : "Training", series: 0, width: 2, x, y: curve.column("loss") },
    ...(scores.length ? [{ name: "Test", series: 1, width: 1.75, points: true, x: scores.column(axis.column), y: scores.column("loss") }] : []),
  ];
}

function accuracyCurves({ scores }, axis) {
  return [{ name: "Test accuracy", series: 1, width: 2, points: true, x: scores.column(axis.column), y: scores.column("accuracy") }];
}

/** The gap between neighbours, the bound theta above it, and the gaps of the overlaid runs. */
export function gapView(run, settings, overlays) {
  const axis = axisOf(settings.axis, settings.logX, run.about?.virtual);
  const x = run.curve.column(axis.column);
  const theta = run.curve.column("theta");
  const bounded = theta.some((value) => value > 0);
  return {
    x: axis,
    y: plain(settings.logGap),
    curves: [
      { name: "Gap", series: 0, width: 2, x, y: run.curve.column("gap") },
      ...(bounded ? [{ name: "Theta", series: 1, width: 1.75, x, y: theta }] : []),
      ...overlays.map(({ name, series, curve }) => ({ name, series, width: 1.5, x: curve.column(axis.column), y: curve.column("gap") })),
    ],
  };
}

const PARTS = [
  ["Gradient", "compute_s"], ["Codec and mixing", "codec_s"], ["Hand-over to the script", "handover_s"],
  ["Waiting for neighbours", "wait_s"], ["Other", "other"],
];

/** What a round's time goes to, as layers from below: in seconds, or as shares of the round. */
export function timeView(run, settings, range) {
  const axis = axisOf(settings.axis, settings.logX, run.about?.virtual);
  const means = meansOf(run.curve, axis.column, range);
  const shares = settings.parts === "shares";
  const layers = PARTS.map(([name, column], layer) => ({ name, layer, series: layer, own: ownOf(means, column, shares) }))
    .filter(({ name, own }) => !["Hand-over to the script", "Other"].includes(name) || own.some((value) => value > 0));
  const sum = new Float64Array(means.x.length);
  for (const item of layers) {
    item.own.forEach((value, i) => { sum[i] += value; });
    item.x = means.x;
    item.y = Float64Array.from(sum);
  }
  layers.reverse();
  const ground = { series: 0, x: means.x, y: new Float64Array(means.x.length) };
  return {
    x: axis,
    y: { format: shares ? percent : seconds, zero: true, top: shares ? 1 : undefined },
    curves: layers.length ? [...layers, ground] : [],
  };
}

/** Means over parts of the shown range, so that the layers are calm. */
function meansOf(curve, column, range) {
  const all = curve.column(column);
  const from = range ? Math.max(0, lowerBound(all, range.min) - 1) : 0;
  const to = range ? Math.min(all.length, lowerBound(all, range.max) + 1) : all.length;
  const group = Math.max(1, Math.ceil((to - from) / BINS));
  const means = { x: [], round_s: [], compute_s: [], codec_s: [], handover_s: [], wait_s: [] };
  for (let i = from; i < to; i += group) {
    const end = Math.min(to, i + group);
    means.x.push(all[end - 1]);
    for (const name of Object.keys(means).slice(1)) {
      means[name].push(mean(curve.column(name).subarray(i, end)));
    }
  }
  means.x = Float64Array.from(means.x);
  return means;
}

function mean(values) {
  let [sum, n] = [0, 0];
  for (const value of values) {
    if (Number.isFinite(value)) {
      [sum, n] = [sum + value, n + 1];
    }
  }
  return n ? sum / n : NaN;
}

/** One layer by itself. Other is what the parts leave of the round. */
function ownOf(means, column, shares) {
  return Float64Array.from(means.x, (_, i) => {
    const parts = ["compute_s", "codec_s", "handover_s", "wait_s"].reduce((sum, name) => sum + (means[name][i] || 0), 0);
    const round = Math.max(parts, means.round_s[i] || 0);
    const value = column === "other" ? round - parts : means[column][i] || 0;
    return shares ? (round > 0 ? value / round : 0) : value;
  });
}
