// The cells of a comparison as they fill: per label and network the seeds with their state, and means with intervals.

import { $, h, setText } from "./dom.js";
import { bytes, count, number, percent, plural, seconds } from "./format.js";
import { icon } from "./icons.js";

const SYMBOLS = { waiting: "starting", running: "training", ok: "done", diverged: "warning", failed: "failed" };

// Quantiles of Student's t for 95 % intervals, by degrees of freedom; then that of the normal distribution.
const STUDENT = [NaN, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042];

let shown = null; // the table that is there: { key, progress, frame, body, texts }

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
  const columns = {
    networks: new Set(comparison.cells.map(({ network }) => network)).size > 1,
    target: comparison.target,
    times: new Map(comparison.times.map(({ label, network, time }) => [`${label}\n${network}`, time])),
  };
  const key = JSON.stringify([columns.networks, columns.target, comparison.labels]);
  if (!shown || shown.key !== key) {
    shown = newTable(key, columns);
    $("cells").replaceChildren(shown.progress, shown.frame);
  }
  [shown.progress.max, shown.progress.value] = [Math.max(1, comparison.of), comparison.done];
  groups(comparison.cells).forEach((group, i) => drawGroup(group, i, columns, show));
}

function newTable(key, { networks, target }) {
  const heads = ["Setting", networks && "Network", "Seeds", "Loss", "Accuracy", "Time", target && `Seconds to ${target}`, "Sent by a peer"];
  const body = h("tbody");
  const words = ["Setting", "Network", "Seeds"];
  const head = heads.filter(Boolean).map((text) => h("th", { scope: "col", class: words.includes(text) ? "words" : null }, text));
  return {
    key, body, texts: [],
    progress: h("progress", { "aria-label": "Cells that are over" }),
    frame: h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Cells" },
      h("table", { class: "cells" }, h("caption", { class: "note" }, "Means over the seeds that are over, with 95 % intervals"),
        h("thead", {}, h("tr", {}, head)), body)),
  };
}

/** Draws a row again only if its cells have changed, so the others keep focus and clicks. */
function drawGroup(group, i, columns, show) {
  const text = JSON.stringify([group, timeOf(group, columns)]);
  if (shown.texts[i] === text) {
    return;
  }
  shown.texts[i] = text;
  const focus = document.activeElement?.dataset?.cell;
  const fresh = row(group, columns, show);
  if (shown.body.children[i]) {
    shown.body.children[i].replaceWith(fresh);
  } else {
    shown.body.append(fresh);
  }
  if (focus) {
    fresh.querySelector(`[data-cell="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
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

function row(cells, columns, show) {
  const { networks, target } = columns;
  const over = cells.filter(({ state }) => state === "ok");
  const mean = (value, format) => {
    const values = over.map(value).filter((v) => v !== null && v !== undefined);
    if (values.length === 0) {
      return "–";
    }
    const { mean: middle, half } = interval(values);
    return Number.isNaN(half) ? format(middle) : h("span", {}, format(middle), h("span", { class: "interval" }, ` ± ${format(half)}`));
  };
  return h("tr", {}, h("th", { scope: "row" }, cells[0].label), networks ? h("td", { class: "words" }, cells[0].network) : null,
    h("td", { class: "words" }, h("ul", { class: "seeds" }, cells.map((cell) => seed(cell, show)))),
    h("td", {}, mean(({ loss }) => loss, number)), h("td", {}, mean(({ accuracy }) => accuracy, percent)), h("td", {}, mean((cell) => cell.time_s, seconds)),
    target ? h("td", {}, timeOf(cells, columns)) : null, h("td", {}, mean((cell) => cell.bytes, bytes)));
}

/** When the cells of a row reached the target, in the words of a report: a bound is no measurement. */
const timeOf = ([{ label, network }], { times }) => times.get(`${label}\n${network}`) ?? "–";

/** One cell: its seed, its state, and how far it is. */
function seed(cell, show) {
  const share = cell.rounds_of ? Math.min(1, (cell.rounds ?? 0) / cell.rounds_of) : 0;
  const words = cell.state === "running" ? `running, ${percent(share)}, loss ${number(cell.train_loss)}` : cell.state;
  const label = `${cell.label}, ${cell.network}, seed ${cell.seed}: ${words}${cell.error ? `: ${cell.error}` : ""}`;
  const content = [icon(SYMBOLS[cell.state]), h("span", {}, `${cell.seed}`), cell.state === "running" ? h("span", { class: "note" }, percent(share)) : null];
  return h("li", { class: `cell ${cell.state}` }, cell.run
    ? h("button", { type: "button", title: label, "aria-label": `Show ${label}`, "data-cell": `${cell.label} ${cell.network} ${cell.seed}`, onclick: () => show(cell.run) }, content)
    : h("span", { class: "seed", title: label, role: "img", "aria-label": label }, content));
}
