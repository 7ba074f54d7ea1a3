// Earlier runs: a list to choose those that lie over the curves, or the one to show.

import { h } from "./dom.js";
import { bytes, count, number, percent } from "./format.js";
import { icon } from "./icons.js";
import { swatch } from "./style.js";

const FIRST = 30;
const SYMBOLS = { running: "training", finished: "done", stopped: "lost" };

/** List of runs. over(id, on) lays a run over the curves, show(id) shows it. */
export class RunList {
  #all = false;
  #drawn = "";

  constructor(host, { over, show }) {
    this.actions = { over, show };
    this.body = h("tbody");
    const heads = ["Over", "Run", "State", "Algorithm", "Graph", "Rounds", "Loss", "Accuracy", "Sent"];
    this.table = h("table", { class: "runs" }, h("caption", { class: "unseen" }, "Runs of the folder, newest first"),
      h("thead", {}, h("tr", {}, heads.map((head, i) => h("th", { scope: "col", class: i < 5 ? "words" : null }, head)))), this.body);
    this.more = h("button", { type: "button", onclick: () => this.#showAll() }, "Show all");
    this.empty = h("p", { class: "empty" }, "The folder has no run yet. One that begins shows up here by itself.");
    this.frame = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Runs" }, this.table);
    host.append(this.frame, this.more, this.empty);
  }

  /** Draws the runs. Shown is the id of the run of the page, series the look of each run that lies over it, by id. */
  show(runs, shown, series) {
    this.last = [runs, shown, series];
    const key = JSON.stringify([runs, shown, [...series], this.#all]);
    if (key === this.#drawn) {
      return;
    }
    this.#drawn = key;
    const focus = document.activeElement?.closest?.("[data-run]")?.dataset;
    this.empty.hidden = runs.length > 0;
    this.frame.hidden = runs.length === 0;
    this.more.hidden = this.#all || runs.length <= FIRST;
    this.body.replaceChildren(...runs.slice(0, this.#all ? runs.length : FIRST).map((run) => this.#row(run, shown, series)));
    if (focus) {
      this.body.querySelector(`[data-run="${CSS.escape(focus.run)}"][data-part="${focus.part}"]`)?.focus({ preventScroll: true });
    }
  }

  #showAll() {
    this.#all = true;
    this.show(...this.last);
  }

  #row(run, shown, series) {
    const current = run.id === shown;
    const label = run.name || run.id;
    const box = h("input", {
      type: "checkbox", "aria-label": `Lay ${run.id} over the curves`, checked: series.has(run.id), disabled: current,
      "data-run": run.id, "data-part": "over", onchange: (event) => this.actions.over(run.id, event.target.checked),
    });
    const name = h("button", {
      type: "button", class: "link", "aria-current": current ? "true" : null, title: run.id, "data-run": run.id, "data-part": "show",
      onclick: () => this.actions.show(run.id),
    }, label);
    return h("tr", { class: current ? "current" : null },
      h("td", { class: "words" }, h("span", { class: "with-icon" }, box, series.has(run.id) ? swatch(series.get(run.id)) : null)),
      h("th", { scope: "row" }, name, h("span", { class: "note when" }, began(run.began))),
      h("td", { class: "words" }, h("span", { class: "with-icon" }, icon(SYMBOLS[run.state]), run.state)),
      h("td", { class: "words" }, [run.algorithm, run.bits ? `${run.bits} bit` : ""].filter(Boolean).join(", ")),
      h("td", { class: "words" }, run.graph ? `${run.graph}, ${run.workers}` : "–"),
      h("td", {}, run.rounds_of && run.rounds !== run.rounds_of ? `${count(run.rounds)} of ${count(run.rounds_of)}` : count(run.rounds)),
      h("td", {}, number(run.loss ?? run.train_loss)), h("td", {}, percent(run.accuracy)), h("td", {}, bytes(run.sent_bytes)));
  }
}

function began(text) {
  const date = text ? new Date(text) : null;
  return date && !Number.isNaN(date.getTime()) ? `${date.toISOString().slice(0, 16).replace("T", " ")}` : "";
}
