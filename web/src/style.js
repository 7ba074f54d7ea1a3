// How curves look. Every curve differs from its neighbours in colour, dashes and marker, so charts can be read in grey.

import { colour } from "./theme.js";
import { s } from "./dom.js";

const DASHES = [[], [8, 4], [2, 3], [9, 3, 2, 3], [14, 4], [3, 6], [9, 3, 2, 3, 2, 3], [14, 3, 5, 3]];
const COLOURS = 8; // --series-0 … --series-7 of app.css

/** Look of the i-th curve: { colour, dash }. */
export function look(i) {
  return { colour: colour(`--series-${i % COLOURS}`), dash: DASHES[i % DASHES.length] };
}

/** Small drawing of a line for a legend. */
export function swatch(i, marked) {
  const dash = DASHES[i % DASHES.length];
  return s(
    "svg",
    { class: `swatch series-${i % COLOURS}`, viewBox: "0 0 28 10", width: 28, height: 10, "aria-hidden": "true" },
    s("line", { x1: 0, y1: 5, x2: 28, y2: 5, "stroke-dasharray": dash.length ? dash.join(" ") : null }),
    marked ? s("circle", { class: "swatch-dot", cx: 14, cy: 5, r: 3 }) : null,
  );
}

/** Small drawing of a layer of a stack for a legend. */
export function layerSwatch(layer) {
  return s("svg", { class: "swatch", viewBox: "0 0 28 12", width: 28, height: 12, "aria-hidden": "true" }, layerBar(layer, 0, 28));
}

/** A bar of a layer in a drawing: its colour and its hatching, of the patterns in index.html. */
export function layerBar(layer, x, width) {
  const size = { x, y: 0, width, height: 12 };
  return s("g", {}, s("rect", { class: `layer-${layer}`, ...size }), s("rect", { fill: `url(#hatch-${layer})`, ...size }));
}

// Lines of the hatchings on a canvas, in a tile of n pixels. index.html has the same as patterns.
const HATCHES = [
  () => {},
  (g, n) => [-n, 0, n].forEach((x) => { g.moveTo(x, n); g.lineTo(x + n, 0); }),
  (g, n) => { g.moveTo(n * 0.65, n / 2); g.arc(n / 2, n / 2, n * 0.15, 0, 7); },
  (g, n) => { g.moveTo(0, n / 2); g.lineTo(n, n / 2); },
  (g, n) => { g.moveTo(n / 2, 0); g.lineTo(n / 2, n); },
];

/** Fill of a layer of a stack on a canvas: its colour with a hatching of its own. */
export function hatch(layer, context) {
  const tile = document.createElement("canvas");
  const n = Math.round(6 * devicePixelRatio);
  tile.width = tile.height = n;
  const g = tile.getContext("2d");
  g.fillStyle = colour(`--layer-${layer}`);
  g.fillRect(0, 0, n, n);
  g.strokeStyle = colour("--hatch");
  g.lineWidth = devicePixelRatio;
  g.beginPath();
  HATCHES[layer](g, n);
  g.stroke();
  return context.createPattern(tile, "repeat");
}
