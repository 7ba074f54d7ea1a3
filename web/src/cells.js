// The cells of a comparison as they fill: per label and network the seeds with their state, and means with intervals.

import { $, h, setText } from "./dom.js";
import { bytes, count, number, percent, plural, seconds } from "./format.js";
import { icon } from "./icons.js";

const SYMBOLS = { waiting: "starting", running: "training", ok: "done", diverged: "warning", failed: "failed" };

// Quantiles of Student's t for 95 % intervals, by degrees of freedom; then that of the normal distribution.
const STUDENT = [NaN, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042];

/** Mean and half width of the 95 % interval of values; NaN where there are too few. */
export function interval(values) {
  const n = values.length;
  const mean = values.reduce((sum, v) => sum + v, 0) / n;
  const variance = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (n - 1);
  return { mean, half: n > 1 ? (STUDENT[n - 1] ?? 1.96) * Math.sqrt(variance / n) : NaN };
}

/** Draws the comparison; show(id) shows the run of a cell. */
export function drawCells(comparison, show) {
  $("cells-panel").hidden = !comparison;
  if (!comparison) {
    return;
  }
  setText($("cells-note"), `${comparison.name}: ${count(comparison.done)} of ${plural(comparison.of, "cell")} over`);
  const host = $("cells");
  const key = JSON.stringify(comparison);
  if (host.dataset.key === key) {
    return;
  }
  host.dataset.key = key;
  const focus = document.activeElement?.dataset?.cell;
  const rows = groups(comparison.cells);
  const networks = new Set(comparison.cells.map(({ network }) => network)).size > 1;
  const heads = ["Setting", ...(networks ? ["Network"] : []), "Seeds", "Loss", "Accuracy", "Time", "Sent by a peer"];
  host.replaceChildren(
    h("progress", { max: Math.max(1, comparison.of), value: comparison.done, "aria-label": "Cells that are over" }),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Cells" },
      h("table", { class: "cells" }, h("caption", { class: "note" }, "Means over the seeds that are over, with 95 % intervals"),
        h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", {}, rows.map((group) => row(group, networks, show))))),
  );
  if (focus) {
    host.querySelector(`[data-cell="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }
}

function groups(cells) {
  const found = new Map();
  for (const cell of cells) {
    const key = `${cell.label}\n${cell.network}`;
    found.set(key, [...(found.get(key) ?? []), cell]);
  }
  return [...found.values()];
}

function row(cells, networks, show) {
  const over = cells.filter(({ state }) => state === "ok");
  const mean = (name, format) => {
    const values = over.map((cell) => cell[name]).filter((v) => v !== null && v !== undefined);
    if (values.length === 0) {
      return "–";
    }
    const { mean: middle, half } = interval(values);
    return Number.isNaN(half) ? format(middle) : h("span", {}, format(middle), h("span", { class: "interval" }, ` ± ${format(half)}`));
  };
  return h("tr", {}, h("th", { scope: "row" }, cells[0].label), networks ? h("td", { class: "words" }, cells[0].network) : null,
    h("td", { class: "words" }, h("ul", { class: "seeds" }, cells.map((cell) => seed(cell, show)))),
    h("td", {}, mean("loss", number)), h("td", {}, mean("accuracy", percent)), h("td", {}, mean("time_s", seconds)), h("td", {}, mean("bytes", bytes)));
}

/** One cell: its seed, its state, and how far it is. */
function seed(cell, show) {
  const share = cell.rounds_of ? Math.min(1, (cell.rounds ?? 0) / cell.rounds_of) : 0;
  const words = cell.state === "running" ? `running, ${percent(share)}` : cell.state;
  const label = `${cell.label}, ${cell.network}, seed ${cell.seed}: ${words}${cell.error ? `: ${cell.error}` : ""}`;
  const content = [icon(SYMBOLS[cell.state]), h("span", {}, `${cell.seed}`), cell.state === "running" ? h("span", { class: "note" }, percent(share)) : null];
  return h("li", { class: `cell ${cell.state}` }, cell.run
    ? h("button", { type: "button", title: label, "aria-label": `Show ${label}`, "data-cell": `${cell.label} ${cell.network} ${cell.seed}`, onclick: () => show(cell.run) }, content)
    : h("span", { class: "seed", title: label, role: "img", "aria-label": label }, content));
}
