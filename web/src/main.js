// The page: what the server tells goes into the store, and the parts that changed are drawn at the next frame.

import "./app.css";
import { axisChoices } from "./axes.js";
import { drawCells } from "./cells.js";
import { Chart } from "./chart.js";
import { choice, toggle } from "./controls.js";
import { gapView, lossView, timeView } from "./curves.js";
import { $, framed, setText } from "./dom.js";
import { EventList, drawSentences } from "./events.js";
import { Graph } from "./graph.js";
import { drawFigures, drawHead } from "./header.js";
import { onKey, startKeys } from "./keys.js";
import { drawMembers } from "./members.js";
import { Overlays } from "./overlays.js";
import { PeerTable } from "./peers.js";
import { RunList } from "./runs.js";
import { Run } from "./store.js";
import { Stream } from "./stream.js";
import { nextTheme, startTheme } from "./theme.js";

const REFRESH = 2000; // ms between questions for the curves of workers

const run = new Run();
const settings = { axis: "rounds", quantity: "loss", parts: "seconds", logX: false, logY: false, logGap: true };
let state = null; // of the folder
let link = "lost";
let wanted = decodeURIComponent(location.hash.slice(1)) || null; // the run that the reader chose; null: the main one
let zoom = null;
let due = new Set();

startTheme();
const zoomed = (range) => {
  zoom = range;
  [loss, gap, time].forEach((chart) => chart.zoom(range));
  redraw("curve");
};
const loss = new Chart($("loss"), { title: "Loss", empty: "The curves begin with the first recorded round.", onZoom: zoomed });
const gap = new Chart($("gap"), { title: "Gap and theta", empty: "No recorded round yet.", onZoom: zoomed });
const time = new Chart($("time"), { title: "Time of a round", empty: "No recorded round yet.", onZoom: zoomed });
const overlays = new Overlays({ changed: () => redraw("curve", "peers", "runs"), failed: (text) => notice(text) });
const pick = (rank) => overlays.flipWorker(run.id, rank);
const graph = new Graph($("graph"), $("graph-controls"), pick);
const peers = new PeerTable($("peers"), pick);
const events = new EventList($("events"));
const runs = new RunList($("runs"), { over: (id, on) => overlays.setRun(id, on), show: (id) => showRun(id) });
let fresh = true; // the next events are those of a run that was not shown before

const draw = framed(() => {
  const parts = due;
  due = new Set();
  drawHead(run, state, link);
  drawFigures(run);
  if (parts.has("members")) {
    drawMembers(run, pick);
  }
  if (parts.has("curve") || parts.has("about")) {
    drawCurves();
  }
  if (parts.has("peers") || parts.has("edges") || parts.has("about")) {
    peers.show(run.ranks, new Set(overlays.workers.keys()), run.members?.names);
    graph.show(run, new Set(overlays.workers.keys()));
  }
  if (parts.has("events")) {
    events.show(run.events, fresh);
    fresh = false;
  }
  if (parts.has("sentences")) {
    drawSentences(run, pick);
  }
  if (parts.has("runs")) {
    runs.show(state?.runs ?? [], run.id, new Map([...overlays.runs].map(([id, { series }]) => [id, series])));
    drawCells(state?.comparison, showRun);
  }
});

function redraw(...parts) {
  parts.forEach((part) => due.add(part));
  draw();
}

function drawCurves() {
  const runsOver = [...overlays.runs.values()];
  loss.show(lossView(run, settings, [...overlays.workers.values()], runsOver));
  gap.show(gapView(run, settings, runsOver));
  time.show(timeView(run, settings, zoom));
  settings.scored = run.scores.column("accuracy").some(Number.isFinite);
  quantity.element.hidden = !settings.scored && settings.quantity === "loss";
}

let said = ""; // what the connection or an answer says

function notice(text) {
  said = text;
  drawNotice();
}

function drawNotice() {
  const text = said || run.failed;
  $("notice").hidden = !text;
  setText($("notice"), text);
}

const stream = new Stream({
  run: (message) => {
    fresh ||= message.reset && message.id !== run.id;
    redraw(...run.take(message));
    drawNotice();
  },
  state: (message) => {
    state = message;
    followed(message);
    redraw("runs");
  },
  link: (now, text) => {
    link = now;
    notice(now === "over" ? `The server has ended, and the last state is shown: ${text}` : now === "refused" ? text : "");
    redraw();
  },
});

/** Follows the run that the reader chose, or the main one of the folder. */
let following = null;
function followed({ main, runs: known }) {
  if (wanted && !known.some(({ id }) => id === wanted)) {
    wanted = null;
  }
  const id = wanted ?? main;
  if (id !== following) {
    following = id;
    overlays.clearWorkers();
    overlays.runs.delete(id);
    zoomed(null);
    stream.follow(id);
  }
}

function showRun(id) {
  wanted = id;
  history.replaceState(null, "", `#${encodeURIComponent(id)}`);
  followed(state);
  redraw("runs");
}

const axis = choice("axis", "Horizontal axis", axisChoices, settings.axis, (value) => {
  settings.axis = value;
  zoomed(null);
});
const quantity = choice("quantity", "Quantity", [["loss", "Loss"], ["accuracy", "Accuracy"]], "loss", (value) => {
  settings.quantity = value;
  redraw("curve");
});
const flipped = (name) => (on) => {
  settings[name] = on;
  redraw("curve");
};
const logX = toggle("Log x", settings.logX, flipped("logX"));
const logY = toggle("Log y", settings.logY, flipped("logY"));
const logGap = toggle("Log y", settings.logGap, flipped("logGap"));
const parts = choice("parts", "Time of a round in", [["seconds", "Seconds"], ["shares", "Shares"]], "seconds", (value) => {
  settings.parts = value;
  redraw("curve");
});
$("loss-controls").append(quantity.element, axis.element, logX.element, logY.element);
$("gap-controls").append(logGap.element);
$("time-controls").append(parts.element);

onKey("r", "curves against rounds", () => axis.choose("rounds"));
onKey("s", "curves against seconds", () => axis.choose("seconds"));
onKey("b", "curves against bytes", () => axis.choose("bytes"));
onKey("x", "logarithmic horizontal axis", () => logX.flip());
onKey("y", "logarithmic loss", () => logY.flip());
onKey("a", "loss or accuracy", () => settings.scored && quantity.next());
onKey("t", "time of a round in seconds or shares", () => parts.next());
onKey("c", "colours: system, light, dark", nextTheme);
for (const [key, id, does] of [["l", "loss", "go to the curves"], ["g", "graph", "go to the graph"], ["p", "peers", "go to the peers"], ["e", "events", "go to the events"]]) {
  onKey(key, does, () => {
    $(`${id}-panel`).scrollIntoView({ block: "nearest" });
    $(id).querySelector("[tabindex='0']:not([hidden])")?.focus({ preventScroll: true });
  });
}
startKeys();
setInterval(() => link === "live" && overlays.refresh(run), REFRESH);
stream.follow(null);
