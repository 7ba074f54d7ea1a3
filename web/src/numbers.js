// The numbers of a chart as a table: what a canvas shows, for readers who do not see it.

import { h } from "./dom.js";
import { lowerBound } from "./columns.js";

const ROWS = 12;

/** Closed list of numbers: { element, fill(view, range) }. */
export function numbersTable(title) {
  const body = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Numbers: ${title}` });
  return {
    element: h("details", { class: "numbers" }, h("summary", {}, "Numbers"), body),
    fill: (view, range) => body.replaceChildren(tableOf(title, view, range)),
  };
}

function tableOf(title, { x, y, curves }, range) {
  const named = curves.filter(({ name }) => name);
  return h(
    "table",
    {},
    h("caption", { class: "unseen" }, title),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, x.label), named.map(({ name }) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, places(named, range).map((at) => h(
      "tr", {}, h("th", { scope: "row" }, x.format(at)), named.map((curve) => h("td", {}, valueAt(curve, at, y))),
    ))),
  );
}

/** Positions of the rows: points of the longest curve, evenly spread over the range. */
function places(curves, { min, max }) {
  const { x } = curves.reduce((a, b) => (b.x.length > a.x.length ? b : a), { x: [] });
  const [from, to] = [lowerBound(x, min), lowerBound(x, max)];
  const last = Math.min(to, x.length - 1);
  const rows = Math.min(ROWS, last - from + 1);
  return Array.from({ length: Math.max(0, rows) }, (_, i) => x[Math.round(from + ((last - from) * i) / Math.max(1, rows - 1))]);
}

function valueAt(curve, at, y) {
  const i = lowerBound(curve.x, at);
  const index = curve.x[i] === at ? i : i - 1;
  if (index < 0) {
    return y.format(NaN);
  }
  const value = curve.own ? curve.own[index] : curve.y[index];
  return y.format(value);
}
