// Earlier runs: a list to choose the overlaid ones, or the one to show.

import { h, setAttribute, setText } from "./dom.js";
import { bytes, count, number } from "./format.js";
import { icon } from "./icons.js";
import { swatch } from "./style.js";

const FIRST = 30;
const HEADS = ["Over", "Run", "State", "Algorithm", "Graph", "Rounds", "Loss", "Accuracy", "Sent"];
const SYMBOLS = { running: "training", finished: "done", stopped: "lost" };

/** List of runs. over(id, on) overlays a run, show(id) shows it. */
export class RunList {
  #all = false;
  #rows = new Map(); // by id
  #last = [];

  constructor(host, { over, show }) {
    this.actions = { over, show };
    this.body = h("tbody");
    this.table = h("table", { class: "runs" }, h("caption", { class: "unseen" }, "Runs of the folder, newest first"),
      h("thead", {}, h("tr", {}, HEADS.map((head, i) => h("th", { scope: "col", class: i < 5 ? "words" : null }, head)))), this.body);
    this.more = h("button", { type: "button", onclick: () => this.#showAll() }, "Show all");
    this.empty = h("p", { class: "empty" }, "The folder has no run yet. One that begins shows up here by itself.");
    this.frame = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Runs" }, this.table);
    host.append(this.frame, this.more, this.empty);
  }

  /** Draws the runs. Shown is the id of the run of the page, series the look of each overlaid run, by id. */
  show(runs, shown, series) {
    this.#last = [runs, shown, series];
    this.empty.hidden = runs.length > 0;
    this.frame.hidden = runs.length === 0;
    this.more.hidden = this.#all || runs.length <= FIRST;
    const rows = runs.slice(0, this.#all ? runs.length : FIRST).map((run) => this.#row(run, shown, series.get(run.id)));
    if (rows.length !== this.body.children.length || rows.some((row, i) => row !== this.body.children[i])) {
      this.body.replaceChildren(...rows);
    }
  }

  #showAll() {
    this.#all = true;
    this.show(...this.#last);
  }

  /** The row of a run, the same element every time, so that the focus and a press of the mouse stay in it. */
  #row(run, shown, series) {
    if (!this.#rows.has(run.id)) {
      this.#rows.set(run.id, newRow(run, this.actions));
    }
    const row = this.#rows.get(run.id);
    const current = run.id === shown;
    row.element.classList.toggle("current", current);
    setAttribute(row.name, "aria-current", current && "true");
    row.box.disabled = current;
    row.box.checked = series !== undefined;
    if (row.series !== series) {
      row.series = series;
      row.sample.replaceChildren(...(series === undefined ? [] : [swatch(series)]));
    }
    if (row.state !== run.state) {
      row.state = run.state;
      row.cells[0].replaceChildren(h("span", { class: "with-icon" }, icon(SYMBOLS[run.state]), run.state));
    }
    texts(run).forEach((text, i) => setText(row.cells[i + 1], text));
    return row.element;
  }
}

function newRow(run, { over, show }) {
  const box = h("input", { type: "checkbox", "aria-label": `Overlay ${run.id}`, onchange: () => over(run.id, box.checked) });
  const name = h("button", { type: "button", class: "link", title: run.id, onclick: () => show(run.id) }, run.name || run.id);
  const sample = h("span");
  const cells = HEADS.slice(2).map((_, i) => h("td", { class: i < 3 ? "words" : null }));
  const element = h("tr", {}, h("td", { class: "words" }, h("span", { class: "with-icon" }, box, sample)),
    h("th", { scope: "row" }, name, h("span", { class: "note when" }, began(run.began))), cells);
  return { element, box, name, sample, cells };
}

/** What a row says after the state. */
function texts(run) {
  return [
    run.method,
    run.graph ? `${run.graph}, ${run.workers}` : "–",
    run.rounds_of && run.rounds !== run.rounds_of ? `${count(run.rounds)} of ${count(run.rounds_of)}` : count(run.rounds),
    number(run.loss ?? run.train_loss), number(run.accuracy), bytes(run.sent_bytes),
  ];
}

function began(text) {
  const date = text ? new Date(text) : null;
  return date && !Number.isNaN(date.getTime()) ? `${date.toISOString().slice(0, 16).replace("T", " ")}` : "";
}
