// The graph of a run: workers with their state, edges with their load and state. Large graphs become a mosaic.

import { h, s, setAttribute, setText } from "./dom.js";
import { bytes, count, number, percent, plural } from "./format.js";
import { icon, shape, states } from "./icons.js";
import { layout, wraps } from "./layout.js";
import { memberName, present } from "./members.js";
import { Mosaic } from "./mosaic.js";
import { rate, stateText } from "./peers.js";

const LARGEST = 100; // workers that are drawn one by one
const SIZE = 420;
const STUB = 30;
const SHOWN = 3000; // ms for which a death is marked at least
const EDGE_ROWS = 40; // of the table

const EDGE_WORDS = { up: "up", down: "down", off: "switched off", unknown: "no state known" };

/** Drawing of the graph. pick(rank) is called when a worker is pressed. */
export class Graph {
  #shape = "";
  #nodes = new Map();
  #edges = new Map();
  #phase = 0;
  #ids = []; // of those in the graph
  #current = 0; // place among them

  constructor(host, controls, pick) {
    this.pick = pick;
    this.svg = s("svg", { class: "graph", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": "Graph of the peers", onkeydown: (event) => this.#key(event) });
    this.mosaic = new Mosaic();
    this.legend = h("ul", { class: "legend states" });
    this.summary = h("p", { class: "note" });
    this.table = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Edges" });
    this.numbers = h("details", { class: "numbers", ontoggle: () => this.#tell() }, h("summary", {}, "Edges"), this.table);
    this.empty = h("p", { class: "empty" }, "The graph shows up with the first peers.");
    this.slider = h("input", { type: "range", min: 0, value: 0, "aria-label": "Phase of the graph", oninput: () => this.#toPhase() });
    this.phaseText = h("span", { class: "note" });
    this.phases = h("label", { class: "phases", hidden: true }, this.phaseText, this.slider);
    controls.append(this.phases);
    host.append(this.svg, this.mosaic.element, this.legend, this.summary, this.numbers, this.empty);
  }

  show(run, chosen) {
    this.run = run;
    this.chosen = chosen;
    this.#ids = present(run);
    const n = this.#ids.length;
    const large = n > LARGEST;
    this.empty.hidden = n > 0;
    this.svg.toggleAttribute("hidden", large || n === 0);
    this.mosaic.element.hidden = !large;
    this.legend.hidden = this.numbers.hidden = n === 0;
    this.#showPhases();
    this.#summarize();
    this.#showLegend();
    if (large) {
      this.mosaic.show(this.#ids.map((id) => run.peers.get(id)));
    } else if (n > 0) {
      this.#draw(n);
    }
    this.#tell();
  }

  #draw(n) {
    const edges = [...this.run.edges.values()];
    const form = this.run.members?.layout ?? this.run.about?.layout ?? { kind: (this.run.about?.graph ?? "").split(/[ :]/)[0] };
    const key = `${this.run.id} ${this.#ids} ${form.kind} ${edges.map(({ a, b }) => `${a}-${b}`)}`;
    if (key !== this.#shape) {
      this.#shape = key;
      this.#build(form, n, edges);
    }
    const fastest = Math.max(...edges.map(({ rate: r }) => r ?? 0), 1e-9);
    edges.forEach((edge) => this.#drawEdge(edge, fastest));
    for (const [rank, node] of this.#nodes) {
      this.#drawNode(node, this.run.peers.get(rank) ?? { rank, state: "unknown" }, n);
    }
  }

  #build(form, n, edges) {
    const at = new Map(this.#ids.map((id, place) => [id, place]));
    const pairs = edges.map(({ a, b }) => [at.get(a), at.get(b)]);
    const reach = SIZE / 2 - (n > 40 && form.kind !== "torus" ? 24 : 52);
    const unit = layout(form, n, pairs);
    const places = unit.map(([x, y]) => [SIZE / 2 + x * reach, SIZE / 2 + y * reach]);
    this.#edges = new Map(edges.map((edge, i) => {
      const [a, b] = pairs[i];
      const around = wraps(form, unit[a], unit[b], n, pairs);
      return [`${edge.a}-${edge.b}`, newEdge(places[a], places[b], around, edges.length <= 1.5 * n && n <= 20 ? places : null)];
    }));
    const radius = n > 64 ? 6 : n > 32 ? 9 : n > 16 ? 15 : 21;
    this.#nodes = new Map(places.map(([x, y], place) => [this.#ids[place], newNode(this.#ids[place], x, y, radius, this.pick)]));
    this.#current = Math.min(this.#current, n - 1);
    this.svg.replaceChildren(
      s("g", {}, [...this.#edges.values()].map(({ element }) => element)),
      s("g", {}, [...this.#edges.values()].flatMap(({ label }) => label ?? [])),
      s("g", {}, [...this.#nodes.values()].map(({ element }) => element)),
    );
    this.#nodes.get(this.#ids[this.#current])?.element.setAttribute("tabindex", 0);
  }

  #drawEdge(edge, fastest) {
    const drawn = this.#edges.get(`${edge.a}-${edge.b}`);
    const thinnest = this.#nodes.size > 32 ? 0.8 : 1.5;
    const share = edge.load ?? (0.4 * (edge.rate ?? 0)) / fastest; // without a limit, nothing is full
    setAttribute(drawn.element, "class", `edge ${edge.state}${edge.waited ? " waited" : ""}${this.#inPhase(edge) ? "" : " aside"}${(edge.load ?? 0) > 0.9 ? " full" : ""}`);
    setAttribute(drawn.line, "stroke-width", (thinnest + 4 * thinnest * Math.min(1, Math.max(0, share))).toFixed(1));
    setAttribute(drawn.cross, "visibility", edge.state === "down" ? "visible" : "hidden");
    setText(drawn.title, edgeText(edge));
    drawn.label && setText(drawn.label, edge.state === "up" || edge.state === "unknown" ? loadText(edge, "") : edge.state);
  }

  #drawNode(node, peer, n) {
    const gone = ["returning", "lost", "failed"].includes(peer.state) || peer.here === false && peer.state !== "done";
    const back = this.#justDied(node, peer) && !gone;
    const dead = gone || back;
    const text = `Peer ${memberName(peer.rank, this.run.members?.names?.[peer.rank])}: ${stateText(peer)}${back ? ", just back: its process had ended" : ""}${peer.round === undefined ? "" : `, round ${count(peer.round)}`}`;
    setAttribute(node.element, "class", `node ${peer.state}${dead ? " dead" : ""}${n > 32 ? " small" : ""}`);
    setAttribute(node.element, "aria-pressed", this.chosen.has(peer.rank));
    setAttribute(node.element, "aria-label", text);
    setText(node.title, text);
    const symbol = back ? "returning" : gone && peer.state !== "returning" && peer.state !== "failed" ? "lost" : peer.state;
    if (node.state !== symbol) {
      node.state = symbol;
      node.badge.replaceChildren(...shape(symbol));
    }
  }

  /** Whether the process of a peer has just ended. Many are back before two messages of the server, and would go unseen. */
  #justDied(node, peer) {
    const deaths = peer.deaths ?? 0;
    if (deaths > (node.deaths ?? deaths)) {
      node.until = performance.now() + SHOWN;
      setTimeout(() => this.show(this.run, this.chosen), SHOWN);
    }
    node.deaths = deaths;
    return performance.now() < (node.until ?? 0);
  }

  #inPhase(edge) {
    const phase = this.#allPhases[this.#phase - 1];
    return !phase || phase.some(([a, b]) => (a === edge.a && b === edge.b) || (a === edge.b && b === edge.a));
  }

  get #allPhases() {
    return (this.run.members ?? this.run.about)?.phases ?? [];
  }

  #showPhases() {
    const phases = this.#allPhases;
    this.phases.hidden = phases.length < 2;
    this.slider.max = phases.length;
    this.#phase = Math.min(this.#phase, phases.length);
    setText(this.phaseText, this.#phase ? `Phase ${this.#phase} of ${phases.length}` : `All ${phases.length} phases`);
    this.slider.setAttribute("aria-valuetext", this.phaseText.textContent);
  }

  #toPhase() {
    this.#phase = Number(this.slider.value);
    this.show(this.run, this.chosen);
  }

  #summarize() {
    const edges = [...this.run.edges.values()];
    const parts = [this.run.members?.graph ?? this.run.about?.graph, edges.length ? plural(edges.length, "edge") : null];
    for (const state of ["down", "off"]) {
      const n = edges.filter((edge) => edge.state === state).length;
      parts.push(n > 0 ? `${count(n)} ${EDGE_WORDS[state]}` : null);
    }
    const use = (edge) => edge?.load ?? edge?.rate ?? 0;
    const busiest = edges.reduce((a, b) => (use(b) > use(a) ? b : a), null);
    if (busiest && use(busiest) > 0) {
      const of = busiest.load === null || busiest.load === undefined ? "" : " of its limit";
      parts.push(`now busiest ${busiest.a}–${busiest.b}: ${loadText(busiest, "")}${of}`);
    }
    setText(this.summary, parts.filter(Boolean).join(" · "));
  }

  #showLegend() {
    const present = states.filter((state) => [...this.run.peers.values()].some((peer) => peer.state === state));
    const key = present.join();
    if (this.legend.dataset.key !== key) {
      this.legend.dataset.key = key;
      this.legend.replaceChildren(...present.map((state) => h("li", {}, icon(state), state)));
    }
  }

  #tell() {
    if (!this.numbers.open || !this.run) {
      return;
    }
    const edges = [...this.run.edges.values()].sort((x, y) => (y.rate ?? y.bytes ?? 0) - (x.rate ?? x.bytes ?? 0));
    const about = edges.some(({ estimated }) => estimated) ? "Bytes are estimated from the sums of both ends. " : "";
    const limits = edges.some(({ load }) => load > 0) ? "Load is the share of the link's limit that its busier direction uses now." : "";
    const paths = edges.some(({ path }) => path); // ways between machines
    const left = edges.length > EDGE_ROWS ? `The ${EDGE_ROWS} busiest of ${count(edges.length)}. ` : "";
    this.table.replaceChildren(
      h("table", {}, h("caption", { class: "note" }, left + about + limits),
        h("thead", {}, h("tr", {}, ["Edge", "State", "Weight", "Load", "Rate", "Bytes", ...(paths ? ["Over"] : [])].map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", {}, edges.slice(0, EDGE_ROWS).map((edge) => h("tr", {}, h("th", { scope: "row" }, `${edge.a}–${edge.b}`),
          h("td", { class: "words" }, EDGE_WORDS[edge.state] ?? edge.state), h("td", {}, number(edge.weight)), h("td", {}, percent(edge.load)),
          h("td", {}, rate(edge.rate)), h("td", {}, bytes(edge.bytes)), paths ? h("td", { class: "words" }, edge.path) : null)))),
    );
  }

  /** Arrows go from worker to worker; Enter presses the worker. */
  #key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = this.#nodes.get(this.#ids[this.#current]);
    if (step) {
      at?.element.setAttribute("tabindex", -1);
      this.#current = (this.#current + step + this.#nodes.size) % this.#nodes.size;
      const next = this.#nodes.get(this.#ids[this.#current]).element;
      next.setAttribute("tabindex", 0);
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      this.pick(this.#ids[this.#current]);
    } else {
      return;
    }
    event.preventDefault();
  }
}

/** Drawing of an edge. One that goes around a torus leaves it at one side and enters it at the other. */
function newEdge([x1, y1], [x2, y2], around, nodes) {
  const [dx, dy] = [STUB * Math.sign(x1 - x2), STUB * Math.sign(y1 - y2)];
  const d = around ? `M${x1} ${y1}l${dx} ${dy}M${x2} ${y2}l${-dx} ${-dy}` : `M${x1} ${y1}L${x2} ${y2}`;
  const at = around ? [x1 + dx, y1 + dy] : [(x1 + x2) / 2, (y1 + y2) / 2];
  const line = s("path", { d });
  const title = s("title");
  const cross = s("path", { class: "cross", d: `M${at[0] - 6} ${at[1] - 6}l12 12m0 -12l-12 12`, visibility: "hidden" });
  return { line, title, cross, element: s("g", {}, title, line, cross), label: nodes ? besides(at, nodes) : null };
}

/** Label of an edge, a little further from the middle of the drawing than the edge; nearer, if a worker stands there. */
function besides([x, y], nodes) {
  const far = Math.hypot(x - SIZE / 2, y - SIZE / 2) || 1;
  let [dx, dy] = [(x - SIZE / 2) / far, (y - SIZE / 2) / far];
  if (nodes.some(([a, b]) => Math.hypot(a - x - 30 * dx, b - y - 30 * dy) < 36)) {
    [dx, dy] = [-dx, -dy];
  }
  const anchor = dx > 0.2 ? "start" : dx < -0.2 ? "end" : "middle";
  return s("text", { class: "load", x: x + 12 * dx, y: y + 14 * dy + 4, "text-anchor": anchor });
}

function newNode(rank, x, y, radius, pick) {
  const title = s("title");
  const [wide, narrow] = [radius > 16, radius < 13];
  const badge = s("g", { class: "badge", transform: wide ? "translate(-6 3) scale(0.75)" : "translate(-5 2) scale(0.6)" });
  const element = s("g", { transform: `translate(${x} ${y})`, role: "button", tabindex: -1, onclick: () => pick(rank) },
    title, s("circle", { class: "disc", r: radius }),
    narrow ? null : s("text", { class: "rank", "text-anchor": "middle", y: wide ? 0 : -1, "font-size": wide ? 15 : 11 }, String(rank)),
    narrow ? s("path", { class: "gone", d: `M${-radius} ${-radius}L${radius} ${radius}M${-radius} ${radius}L${radius} ${-radius}` }) : badge);
  return { element, title, badge, state: "" };
}

function loadText({ load, rate: r, bytes: b }, none) {
  if (load !== null && load !== undefined) {
    return percent(load);
  }
  if (r) {
    return rate(r);
  }
  return b ? bytes(b) : none;
}

function edgeText(edge) {
  const parts = [`Edge ${edge.a}–${edge.b}: ${EDGE_WORDS[edge.state] ?? edge.state}`, loadText(edge, "no bytes known")];
  if (edge.waited) {
    parts.push("an end waits for the other");
  }
  if (edge.path) {
    parts.push(`over ${edge.path}`);
  }
  return parts.join(", ");
}
