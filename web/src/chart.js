// A chart: uPlot for the drawing, and around it a legend with the values under the cursor, keys, zoom and a table with
// the same numbers for readers who do not see a canvas.

import uPlot from "uplot";
import { lowerBound } from "./columns.js";
import { h, setText, framed } from "./dom.js";
import { colour, onTheme } from "./theme.js";
import { hatch, layerSwatch, look, swatch } from "./style.js";
import { table } from "./thin.js";
import { numbersTable } from "./numbers.js";

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const BLANK = { curves: [], x: {}, y: {} };

/**
 * What a chart shows, a view:
 *   x, y      axes: { label, format, log }; x.whole: only whole numbers
 *   curves    { name, x, y, series, width, points, band, layer, own }
 * Series is the look (colour, dashes). A curve without a name is not drawn: it bounds an area. The area of a band, or
 * of a layer with its hatching, goes down to the next curve. Own are the values of a layer by itself.
 */
export class Chart {
  #view = BLANK;
  #plot = null;
  #shape = "";
  #zoom = null;
  #range = { min: 0, max: 1, log: false };
  #redraw = framed(() => this.#draw());

  constructor(host, { title, empty, onZoom }) {
    this.title = title;
    this.onZoom = onZoom;
    this.legend = h("ul", { class: "legend" });
    this.canvas = h("div", {
      class: "plot", tabindex: 0, role: "group", "aria-label": `Chart: ${title}`, "aria-roledescription": "chart",
      onkeydown: (event) => this.#key(event),
    });
    this.empty = h("p", { class: "empty" }, empty);
    this.spoken = h("p", { class: "unseen", "aria-live": "polite" });
    this.numbers = numbersTable(title);
    host.append(this.legend, this.canvas, this.empty, this.spoken, this.numbers.element);
    this.numbers.element.addEventListener("toggle", () => this.#tell());
    new ResizeObserver(this.#redraw).observe(this.canvas);
    onTheme(() => {
      this.#shape = "";
      this.#redraw();
    });
  }

  show(view) {
    this.#view = view;
    this.#redraw();
  }

  /** Shows a part of the x axis, or all of it with null. */
  zoom(range) {
    this.#zoom = range;
    this.#redraw();
  }

  #draw() {
    const curves = this.#view.curves;
    const drawable = curves.some(({ x }) => x.length > 0);
    this.canvas.hidden = this.legend.hidden = this.numbers.element.hidden = !drawable;
    this.empty.hidden = drawable;
    const { width, height } = this.#size();
    if (!drawable || width < 50) {
      return;
    }
    this.#range = this.#extent();
    const data = table(curves, this.#range, Math.max(20, Math.round(width - 84)));
    if (this.#view.y.log) {
      positive(data);
    }
    const shape = JSON.stringify([this.#view.x, this.#view.y, curves.map(({ x, y, own, ...rest }) => rest)]);
    if (shape !== this.#shape) {
      this.#rebuild(data, width, height);
      this.#shape = shape;
    } else {
      if (this.#plot.width !== width || this.#plot.height !== height) {
        this.#plot.setSize({ width, height });
      }
      this.#plot.setData(data);
    }
    this.#readout();
    this.#tell();
  }

  #size() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  /** The part of the x axis that is shown. */
  #extent() {
    const { curves, x } = this.#view;
    let [min, max] = [Infinity, -Infinity];
    for (const curve of curves) {
      let first = 0;
      while (x.log && first < curve.x.length && !(curve.x[first] > 0)) {
        first++;
      }
      if (first < curve.x.length) {
        min = Math.min(min, curve.x[first]);
        max = Math.max(max, curve.x[curve.x.length - 1]);
      }
    }
    if (this.#zoom) {
      [min, max] = [Math.max(min, this.#zoom.min), Math.min(max, this.#zoom.max)];
    } else if (!x.log && min < max / 5) {
      min = 0;
    }
    if (!(min < max)) {
      [min, max] = x.log ? [min / 2, min * 2] : [min - 0.5, min + 0.5];
    }
    return { min, max, log: Boolean(x.log) };
  }

  #rebuild(data, width, height) {
    this.#plot?.destroy();
    this.#plot = new uPlot(this.#options(width, height), data, this.canvas);
    this.legend.replaceChildren(...this.#view.curves.filter(({ name }) => name).map((curve) => {
      const sample = curve.layer === undefined ? swatch(curve.series, curve.points) : layerSwatch(curve.layer);
      return h("li", {}, sample, h("span", {}, curve.name), h("span", { class: "value" }));
    }));
  }

  #options(width, height) {
    const { x, y, curves } = this.#view;
    return {
      width, height,
      padding: [8, 26, 0, 0],
      legend: { show: false },
      cursor: {
        drag: { x: true, y: false, setScale: false },
        points: { size: 7, width: 1.5, fill: () => colour("--panel") },
        bind: { dblclick: () => () => this.#zoomTo(null) },
      },
      scales: {
        x: { time: false, distr: x.log ? 3 : 1, range: () => [this.#range.min, this.#range.max] },
        y: { distr: y.log ? 3 : 1, range: (_, min, max) => span(min, max, y) },
      },
      axes: [axis(x, { label: x.label, labelSize: 22, labelGap: 2, size: 30 }), axis(y, { size: room })],
      series: [{}, ...curves.map((curve) => line(curve))],
      bands: curves.flatMap((curve, i) => band(curve, i)),
      hooks: {
        setSelect: [(u) => u.select.width > 4 && this.#select(u)],
        setCursor: [() => this.#readout()],
      },
    };
  }

  #select(u) {
    const [from, to] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.#zoomTo({ min: from, max: to });
  }

  #zoomTo(range) {
    this.zoom(range);
    this.onZoom?.(range);
  }

  /** Writes the values under the cursor, or the last ones, into the legend. */
  #readout() {
    const { curves, x, y } = this.#view;
    const at = this.#plot?.cursor.idx ?? null;
    let item = 0;
    curves.forEach((curve, i) => {
      if (curve.name) {
        const drawn = this.#plot.data;
        const value = curve.own ? ownAt(curve, at === null ? Infinity : drawn[0][at]) : at === null ? lastOf(curve) : near(drawn[i + 1], at);
        const target = this.legend.children[item++]?.querySelector(".value");
        if (target) {
          setText(target, y.format(value));
        }
      }
    });
    const where = at === null ? "" : `${x.label}: ${x.format(this.#plot.data[0][at])}`;
    this.legend.dataset.at = where;
  }

  /** Fills the table, if it is open. */
  #tell() {
    if (this.numbers.element.open) {
      this.numbers.fill(this.#view, this.#range);
    }
  }

  #key(event) {
    const u = this.#plot;
    if (!u || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const wide = u.over.clientWidth;
    const step = wide * (event.shiftKey ? 0.1 : 0.01);
    const left = u.cursor.left >= 0 ? u.cursor.left : wide;
    const moves = { ArrowLeft: left - step, ArrowRight: left + step, Home: 0, End: wide };
    if (event.key in moves) {
      this.#move(Math.min(wide, Math.max(0, moves[event.key])));
    } else if (event.key === "+" || event.key === "-") {
      this.#scale(event.key === "+" ? 0.5 : 2, u.posToVal(left, "x"));
    } else if (event.key === "0") {
      this.#zoomTo(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #move(left) {
    this.#plot.setCursor({ left, top: this.#plot.over.clientHeight / 2 });
    const values = [...this.legend.children].slice(0, 6).map((item) => item.textContent.replace("\u00a0", " "));
    setText(this.spoken, `${this.legend.dataset.at}. ${values.join(", ")}`);
  }

  /** Shows factor times as much of the x axis around a value. */
  #scale(factor, around) {
    const { min, max, log } = this.#range;
    const [to, back] = log ? [Math.log, Math.exp] : [(v) => v, (v) => v];
    const half = ((to(max) - to(min)) * factor) / 2;
    const middle = to(Math.max(around, log ? min : -Infinity));
    this.#zoomTo({ min: back(middle - half), max: back(middle + half) });
  }
}

function line(curve) {
  if (curve.layer !== undefined) {
    return { stroke: colour("--panel"), width: 0.5, spanGaps: true, points: { show: false } };
  }
  const { colour: stroke, dash } = look(curve.series);
  return {
    stroke: curve.name ? stroke : "transparent", dash, width: curve.width ?? 1.75, spanGaps: true,
    points: { show: Boolean(curve.points) && ((u, i) => dots(u, i)), size: 6, stroke, fill: colour("--panel"), width: 1.5 },
  };
}

/** Markers only where they stand apart. */
function dots(u, i) {
  const points = u.data[i].reduce((sum, y) => sum + (y !== null), 0);
  return points < u.over.clientWidth / 14;
}

function band(curve, i) {
  if (curve.layer === undefined && !curve.band) {
    return [];
  }
  const fill = curve.band ? `${look(curve.series).colour}2e` : (u) => hatch(curve.layer, u.ctx);
  return [{ series: [i + 1, i + 2], fill }];
}

function axis({ format, log, whole }, more) {
  return {
    stroke: colour("--muted"), font: FONT, labelFont: FONT, gap: 6,
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { show: false },
    incrs: whole && !log ? [1, 2, 5].flatMap((d) => [...Array(9).keys()].map((e) => d * 10 ** e)).sort((a, b) => a - b) : undefined,
    splits: log ? powers : undefined,
    filter: log ? (_, splits) => splits.map((place) => (splits.length < 7 || ROUND.test(place.toExponential()) ? place : null)) : undefined,
    values: (_, splits) => splits.map((v) => (v === null ? "" : format(v))),
    ...more,
  };
}

const ROUND = /^[1235]e/; // places that have a text where there are many
const DIGITS = [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]];

/** Places of a logarithmic axis: powers of ten, with as many multiples between them as give it four places. */
function powers(_, __, min, max) {
  const [first, last] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const exponents = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const step = Math.ceil(exponents.length / 12);
  for (const digits of DIGITS) {
    const all = exponents.flatMap((exponent, i) => (i % step === 0 ? digits.map((digit) => Number(`${digit}e${exponent}`)) : []));
    const places = all.filter((place) => place >= min && place <= max);
    if (places.length >= 4 || (digits.length === 9 && places.length > 1)) {
      return places;
    }
  }
  return [min, max];
}

/** Width of the y axis for its texts. */
function room(_, texts) {
  return Math.max(36, ...(texts ?? []).map((text) => 16 + 6.8 * text.length));
}

/** Range of the y axis with a little room; stacks begin at 0. */
function span(min, max, { log, zero, top }) {
  if (min === null || min === undefined) {
    return log ? [0.1, 1] : [0, 1];
  }
  if (log) {
    return [min / 1.15, max * 1.15];
  }
  const room = (max - min) * 0.08 || Math.abs(max) * 0.1 || 1;
  return [zero ? 0 : min >= 0 ? Math.max(0, min - room) : min - room, top ?? max + room];
}

/** Drops what a logarithmic axis cannot show. */
function positive([, ...columns]) {
  for (const ys of columns) {
    for (let i = 0; i < ys.length; i++) {
      if (!(ys[i] > 0)) {
        ys[i] = null;
      }
    }
  }
}

function lastOf({ y }) {
  for (let i = y.length - 1; i >= 0; i--) {
    if (Number.isFinite(y[i])) {
      return y[i];
    }
  }
  return NaN;
}

/** The value of a layer by itself at a position of the x axis. */
function ownAt({ x, own }, at) {
  return own[Math.min(own.length - 1, lowerBound(x, at))];
}

/** The value at an index of a column, or the nearest one beside it. */
function near(ys, at) {
  for (let d = 0; d < ys.length; d++) {
    const value = ys[at - d] ?? ys[at + d];
    if (value !== null && value !== undefined) {
      return value;
    }
  }
  return NaN;
}
