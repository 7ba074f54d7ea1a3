// The table of peers: sortable, with symbols for states. Of many peers only the rows in view exist.

import { $, h, s, setAttribute, setText } from "./dom.js";
import { bytes, count, number, percent, plural, seconds } from "./format.js";
import { icon, states } from "./icons.js";
import { memberName } from "./members.js";
import { layerBar } from "./style.js";

const WINDOWED = 60; // more rows than this are drawn as they scroll into view
const SPARE = 10;

const faults = ({ deaths, violations, repaired, refused }) =>
  (deaths ?? 0) + (refused ?? 0) + Math.max(violations ?? 0, repaired ?? 0);

const COLUMNS = [
  { key: "rank", head: "Peer", value: (p) => p.rank },
  { key: "does", head: "State", value: (p) => states.indexOf(p.state), words: true },
  { key: "round", head: "Round", value: (p) => p.round ?? -1, text: (p) => count(p.round) },
  { key: "rate", head: "Rounds/s", value: (p) => p.rounds_per_s ?? -1, text: (p) => number(p.rounds_per_s) },
  { key: "loss", head: "Loss", value: (p) => p.loss ?? Infinity, text: (p) => number(p.loss) },
  { key: "last", head: "Last round", value: (p) => roundOf(p) },
  { key: "waits", head: "Waiting", value: (p) => p.wait_share ?? -1, text: (p) => percent(p.wait_share) },
  { key: "waited", head: "Waited for", value: (p) => p.waited_for ?? -1, text: (p) => percent(p.waited_for) },
  { key: "sent", head: "Sent", value: (p) => p.sent?.wire ?? -1, text: (p) => bytes(p.sent?.wire) },
  { key: "speed", head: "Sends", value: (p) => p.sent_rate ?? -1, text: (p) => rate(p.sent_rate) },
  { key: "faults", head: "Faults", value: faults, words: true },
];

export const rate = (n) => (n === null || n === undefined ? "–" : `${bytes(n)}/s`);
const roundOf = (p) => (p.compute_s ?? 0) + (p.codec_s ?? 0) + (p.handover_s ?? 0) + (p.wait_s ?? 0);

/** Table of the peers of a run. Chosen ranks have their curve drawn; pick(rank) is called when one is pressed. */
export class PeerTable {
  #peers = [];
  #names = {};
  #chosen = new Set();
  #sort = { key: "rank", down: false };
  #rows = new Map(); // by rank
  #height = 36;

  constructor(host, pick) {
    this.pick = pick;
    this.body = h("tbody");
    this.heads = COLUMNS.map((column) => h("th", { scope: "col", class: column.words ? "words" : null },
      h("button", { type: "button", onclick: () => this.#sortBy(column.key) }, column.head)));
    this.table = h("table", { class: "peers" }, h("caption", { class: "unseen" }, "Peers; press a number to draw the curve of that peer"),
      h("thead", {}, h("tr", {}, this.heads)), this.body);
    this.frame = h("div", { class: "scroll peers-frame", tabindex: 0, role: "region", "aria-label": "Peers", onscroll: () => this.#fill() }, this.table);
    this.empty = h("p", { class: "empty" }, "No peer has told anything yet.");
    host.append(this.frame, this.empty);
  }

  /** Shows peers; names are those of machines by rank, if there are any. */
  show(peers, chosen, names = {}) {
    this.#peers = peers;
    this.#names = names;
    this.#chosen = chosen;
    this.empty.hidden = peers.length > 0;
    this.frame.hidden = peers.length === 0;
    this.frame.classList.toggle("tall", peers.length > 16);
    const marks = states.map((state) => [state, peers.filter((p) => p.state === state).length]).filter(([, n]) => n > 0);
    setText($("peers-note"), peers.length ? marks.map(([state, n]) => `${count(n)} ${state}`).join(" · ") : "");
    this.#fill();
  }

  #sortBy(key) {
    this.#sort = { key, down: this.#sort.key === key ? !this.#sort.down : key !== "rank" && key !== "does" };
    this.#fill();
  }

  #sorted() {
    const { key, down } = this.#sort;
    const value = COLUMNS.find((column) => column.key === key).value;
    return [...this.#peers].sort((a, b) => (down ? value(b) - value(a) : value(a) - value(b)) || a.rank - b.rank);
  }

  /** Writes the rows that can be seen. */
  #fill() {
    COLUMNS.forEach(({ key }, i) => {
      const sort = this.#sort.key === key ? (this.#sort.down ? "descending" : "ascending") : "none";
      this.heads[i].setAttribute("aria-sort", sort);
    });
    const peers = this.#sorted();
    let [from, to] = [0, peers.length];
    if (peers.length > WINDOWED) {
      from = Math.max(0, Math.floor(this.frame.scrollTop / this.#height) - SPARE);
      to = Math.min(peers.length, from + Math.ceil((this.frame.clientHeight || 600) / this.#height) + 2 * SPARE);
    }
    this.table.setAttribute("aria-rowcount", peers.length + 1);
    const rows = peers.slice(from, to).map((peer, i) => this.#row(peer, from + i));
    const before = spacer(from * this.#height);
    const after = spacer((peers.length - to) * this.#height);
    const wanted = [before, ...rows, after].filter(Boolean);
    if (wanted.length !== this.body.children.length || wanted.some((row, i) => row !== this.body.children[i])) {
      const focus = document.activeElement;
      this.body.replaceChildren(...wanted);
      if (focus !== document.activeElement && this.body.contains(focus)) {
        focus.focus({ preventScroll: true });
      }
    }
    const seen = new Set(peers.slice(from, to).map(({ rank }) => rank));
    [...this.#rows.keys()].filter((rank) => !seen.has(rank)).forEach((rank) => this.#rows.delete(rank));
    const tall = rows[0]?.offsetHeight;
    this.#height = tall > 0 ? tall : this.#height;
  }

  #row(peer, index) {
    let row = this.#rows.get(peer.rank);
    if (!row) {
      row = newRow(peer.rank, this.pick);
      this.#rows.set(peer.rank, row);
    }
    row.setAttribute("aria-rowindex", index + 2);
    row.dataset.state = peer.state;
    const button = row.querySelector("button");
    button.setAttribute("aria-pressed", this.#chosen.has(peer.rank));
    const name = memberName(peer.rank, this.#names[peer.rank]);
    setText(button, name);
    setAttribute(button, "aria-label", `Peer ${name}: draw its curve`);
    const cells = row.children;
    COLUMNS.forEach(({ key, text }, i) => text && setText(cells[i], text(peer)));
    drawState(cells[1], peer);
    drawSplit(cells[5], peer);
    drawFaults(cells[10], peer);
    return row;
  }
}

function newRow(rank, pick) {
  const button = h("button", { type: "button", onclick: () => pick(rank) });
  return h("tr", {}, h("th", { scope: "row" }, button), COLUMNS.slice(1).map(({ key, words }) => h("td", { class: words ? `words ${key}` : null })));
}

function spacer(height) {
  if (height <= 0) {
    return null;
  }
  const cell = h("td", { colspan: COLUMNS.length });
  cell.style.height = `${height}px`;
  return h("tr", { class: "spacer", "aria-hidden": "true" }, cell);
}

/** What a peer does, in words: with the neighbours it waits for. */
export function stateText({ state, missing, detail, here }) {
  const ended = ["failed", "lost", "returning", "done"].includes(state);
  const silent = here === false && !ended ? "; its process does not answer" : "";
  if (state === "waiting" && missing?.length) {
    return `waiting for ${missing.slice(0, 3).join(", ")}${missing.length > 3 ? " …" : ""}${silent}`;
  }
  return (ended && detail ? `${state}: ${detail}` : state) + silent;
}

function drawState(cell, peer) {
  const text = stateText(peer);
  if (cell.dataset.text !== text) {
    cell.dataset.text = text;
    const symbol = peer.here === false && !["returning", "lost", "failed", "done"].includes(peer.state) ? "lost" : peer.state;
    cell.replaceChildren(h("span", { class: "with-icon" }, icon(symbol), h("span", {}, text)));
  }
}

/** Bar of the parts of the last round, with its length in words. */
function drawSplit(cell, peer) {
  const total = roundOf(peer);
  const text = total > 0 ? seconds(total) : "–";
  const widths = [peer.compute_s, peer.codec_s, peer.handover_s, peer.wait_s].map((part) => (total > 0 ? (60 * (part ?? 0)) / total : 0));
  const key = text + widths.map(Math.round);
  if (cell.dataset.text === key) {
    return;
  }
  cell.dataset.text = key;
  let x = 0;
  const bars = widths.map((width, i) => {
    const bar = layerBar(i, x, width);
    x += width;
    return bar;
  });
  const share = total > 0 ? percent((peer.wait_s ?? 0) / total) : "–";
  cell.replaceChildren(
    h("span", { class: "split" }, s("svg", { viewBox: "0 0 60 12", width: 60, height: 12, role: "img", "aria-label": `${share} of it waiting` }, bars), h("span", {}, text)),
  );
}

function drawFaults(cell, peer) {
  const parts = [];
  if (peer.deaths) { parts.push(plural(peer.deaths, "death")); }
  if (peer.repaired) { parts.push(`${count(peer.repaired)}\u00a0repaired`); }
  const open = Math.max(0, (peer.violations ?? 0) - (peer.repaired ?? 0));
  if (open) { parts.push(plural(open, "violation")); }
  if (peer.refused) { parts.push(`${count(peer.refused)}\u00a0refused`); }
  setText(cell, parts.join(", ") || "none");
}
