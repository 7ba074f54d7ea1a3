// Events, newest first, and sentences that explain the run. New warnings are read out, at most one every few seconds.

import { $, h, setText } from "./dom.js";
import { count, plural, seconds } from "./format.js";
import { choice } from "./controls.js";
import { icon } from "./icons.js";

const FIRST = 60; // rows before "show more"
const PAUSE = 4000; // ms between two announcements

/** The list of events. */
export class EventList {
  #events = [];
  #shown = FIRST;
  #filter = "all";
  #heard = 0; // number of the last event that was announced
  #waiting = null;
  #rows = new Map(); // by number

  constructor(host) {
    this.list = h("ol", { class: "events" });
    this.more = h("button", { type: "button", onclick: () => this.#further() }, "Show more");
    this.empty = h("p", { class: "empty" }, "Nothing yet.");
    this.frame = h("div", { class: "scroll events-frame", tabindex: 0, role: "region", "aria-label": "Events" }, this.list, this.more);
    host.append(this.frame, this.empty);
    const filter = choice("filter", "Events", [["all", "All"], ["warnings", "Warnings"]], "all", (value) => {
      this.#filter = value;
      this.#draw();
    });
    $("events-controls").append(filter.element);
  }

  /** Shows the events of a run; fresh is true for a run that was not shown before. */
  show(events, fresh) {
    if (fresh) {
      this.#rows.clear();
      this.#shown = FIRST;
      this.#heard = events.at(-1)?.n ?? 0;
    }
    this.#events = events;
    this.#draw();
    this.#announce();
  }

  #further() {
    this.#shown += 200;
    this.#draw();
  }

  #draw() {
    const chosen = this.#events.filter(({ severity }) => this.#filter === "all" || severity !== "note");
    const rows = chosen.slice(-this.#shown).reverse().map((event) => this.#row(event));
    this.list.replaceChildren(...rows);
    this.more.hidden = chosen.length <= this.#shown;
    this.frame.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
    setText(this.empty, this.#events.length > 0 ? "No warnings." : "Nothing yet.");
  }

  #row(event) {
    if (!this.#rows.has(event.n)) {
      this.#rows.set(event.n, h("li", { class: event.severity }, icon(event.severity),
        h("span", { class: "when" }, event.round !== undefined && event.round !== null ? `round ${count(event.round)}` : seconds(event.time_s)),
        h("span", { class: "what" }, event.severity === "note" ? "" : h("strong", { class: "unseen" }, `${event.severity}: `), event.text)));
    }
    return this.#rows.get(event.n);
  }

  /** Reads out the newest warning, and how many more there are. */
  #announce() {
    if (this.#waiting) {
      return;
    }
    const fresh = this.#events.filter(({ n, severity }) => n > this.#heard && severity !== "note");
    if (fresh.length === 0) {
      return;
    }
    this.#heard = fresh.at(-1).n;
    const others = fresh.length > 1 ? `, and ${plural(fresh.length - 1, "more warning")}` : "";
    setText($("announce"), fresh.at(-1).text + others);
    this.#waiting = setTimeout(() => {
      this.#waiting = null;
      this.#announce();
    }, PAUSE);
  }
}

const ORDER = ["problem", "warning", "note"];

/** Sentences that explain, the worst first. */
export function drawSentences(run, pick) {
  $("sentences-panel").hidden = run.sentences.length === 0;
  const sorted = [...run.sentences].sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  $("sentences").replaceChildren(...sorted.map(({ severity, text, worker }) => h("li", { class: severity }, icon(severity),
    h("span", { class: "what" }, h("strong", { class: "unseen" }, `${severity}: `), text, " ",
      worker === undefined || worker === null ? null
        : h("button", { type: "button", class: "link", onclick: () => pick(worker) }, `show peer\u00a0${worker}`)))));
}
