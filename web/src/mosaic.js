// A thousand workers at a glance: one small mark each, in the order of the graph. The shape of the mark tells the state.

import { h, setText } from "./dom.js";
import { count } from "./format.js";
import { colour, onTheme } from "./theme.js";
import { stateText } from "./peers.js";

const MARKS = {
  training: (g, r) => g.fillRect(-r, -r, 2 * r, 2 * r),
  waiting: (g, r) => g.strokeRect(-r + 0.5, -r + 0.5, 2 * r - 1, 2 * r - 1),
  done: (g, r) => { g.beginPath(); g.arc(0, 0, r * 0.55, 0, 7); g.fill(); },
  gone: (g, r) => { g.beginPath(); g.moveTo(-r, -r); g.lineTo(r, r); g.moveTo(-r, r); g.lineTo(r, -r); g.stroke(); },
  other: (g, r) => { g.beginPath(); g.moveTo(-r, 0); g.lineTo(r, 0); g.stroke(); },
};
const KIND = { training: "training", testing: "training", waiting: "waiting", joining: "waiting", done: "done", failed: "gone", lost: "gone", returning: "gone" };
const INK = { training: "--series-0", waiting: "--muted", done: "--good", gone: "--problem", other: "--muted" };

export class Mosaic {
  #peers = [];
  #n = 0;

  constructor() {
    this.canvas = h("canvas", { role: "img" });
    this.text = h("p", { class: "note" }, "Point at a mark to read it. ■ trains  □ waits  • done  × gone");
    this.element = h("div", { class: "mosaic" }, this.canvas, this.text);
    this.canvas.addEventListener("pointermove", (event) => this.#point(event));
    new ResizeObserver(() => this.#draw()).observe(this.element);
    onTheme(() => this.#draw());
  }

  /** Shows peers in their order; undefined stands for one that has told nothing. */
  show(peers) {
    this.#peers = peers;
    this.#n = peers.length;
    this.canvas.setAttribute("aria-label", `${count(this.#n)} peers, one mark each; the table of peers has the same states`);
    this.#draw();
  }

  get #cell() {
    return Math.max(8, Math.min(18, Math.floor(Math.sqrt((this.#wide * 340) / Math.max(1, this.#n)))));
  }

  get #wide() {
    return this.element.clientWidth;
  }

  get #columns() {
    return Math.max(1, Math.floor(this.#wide / this.#cell));
  }

  #draw() {
    if (!this.#n || !this.#wide) {
      return;
    }
    const [cell, columns, ratio] = [this.#cell, this.#columns, devicePixelRatio];
    const rows = Math.ceil(this.#n / columns);
    this.canvas.width = columns * cell * ratio;
    this.canvas.height = rows * cell * ratio;
    this.canvas.style.width = `${columns * cell}px`;
    this.canvas.style.height = `${rows * cell}px`;
    const g = this.canvas.getContext("2d");
    const inks = Object.fromEntries(Object.entries(INK).map(([kind, name]) => [kind, colour(name)]));
    for (const [place, peer] of this.#peers.entries()) {
      const kind = KIND[peer?.state] ?? "other";
      g.setTransform(ratio, 0, 0, ratio, ((place % columns) + 0.5) * cell * ratio, (Math.floor(place / columns) + 0.5) * cell * ratio);
      g.fillStyle = g.strokeStyle = inks[kind];
      g.lineWidth = 1.4;
      MARKS[kind](g, cell * 0.34);
    }
  }

  #point({ offsetX, offsetY }) {
    const peer = this.#peers[Math.floor(offsetY / this.#cell) * this.#columns + Math.floor(offsetX / this.#cell)];
    if (peer) {
      setText(this.text, `Peer ${peer.rank}: ${stateText(peer)}, round ${count(peer.round)}`);
    }
  }
}
