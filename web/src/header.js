// The head of the page: which run, how it is doing, how far it is, and its key figures.

import { $, h, setText } from "./dom.js";
import { NONE, bytes, count, number, percent, seconds } from "./format.js";
import { icon } from "./icons.js";

const LINKS = {
  lost: ["unknown", "No connection; trying again"],
  refused: ["failed", "Not admitted"],
};
const STATES = { running: ["training", "Running"], finished: ["done", "Finished"], stopped: ["lost", "Stopped"] };

const ALWAYS = ["Round", "Training loss", "Gap"]; // figures that are there before they have a value

let shown = "";

/** Name, setting and state of the run. Link is the state of the connection. */
export function drawHead(run, state, link) {
  const about = run.about;
  const own = about?.name && run.id.startsWith(about.name); // cells of a comparison share the name of their base
  setText($("run-name"), own ? about.name : run.id || "No run yet");
  setText($("run-setting"), about ? about.describe.replace(`${about.name}: `, "") : `folder ${state?.folder ?? ""}`);
  const [symbol, text] = LINKS[link] ?? stateOf(about, link);
  if (shown !== symbol + text) {
    shown = symbol + text;
    $("state").replaceChildren(icon(symbol), h("span", {}, text));
    $("state").dataset.state = symbol;
  }
  drawProgress(run);
  const share = run.progress && about?.rounds_of ? `${percent(run.progress.round / about.rounds_of)} · ` : "";
  document.title = `${share}${about?.name ?? "no run"} · gossiptrainer`;
}

function stateOf(about, link) {
  if (!about) {
    return ["unknown", link === "over" ? "Ended" : "Waiting for a run"];
  }
  if (link === "over" && about.state === "running") {
    return ["unknown", "Ended; last state shown"];
  }
  return STATES[about.state] ?? ["unknown", about.state];
}

function drawProgress({ progress, reading, about }) {
  const of = progress?.rounds_of || about?.rounds_of || 0;
  $("progress").value = of ? Math.min(1, (progress?.round ?? 0) / of) : 0;
  const parts = [];
  if (progress) {
    const apart = progress.least < progress.most ? `${count(progress.least)} to ${count(progress.most)}` : count(progress.most);
    parts.push(`round ${apart}${of ? ` of ${count(of)}` : ""}`, `${seconds(progress.time_s)}${about?.virtual ? " of virtual time" : ""}`);
    if (about?.state === "running" && progress.left_s > 0) {
      parts.push(`about ${seconds(progress.left_s)} left`);
    }
  }
  if (about?.ended) {
    parts.push(`ended by ${about.ended}`);
  }
  if (reading < 1) {
    parts.push(`${percent(reading)} of the record is read`);
  }
  setText($("progress-text"), parts.join(" · "));
}

/** The row of key figures. */
export function drawFigures({ progress, scores, about, members }) {
  const p = progress ?? {};
  const test = scores.last("loss");
  const accuracy = p.accuracy ?? scores.last("accuracy");
  const figures = [
    ["Round", count(p.round === undefined ? p.round : Math.floor(p.round))],
    ["View", count(members?.now.view)],
    ["Members", count(members?.now.members.length)],
    ["Rounds per second", number(p.rounds_per_s)],
    ["Training loss", number(p.loss)],
    ["Test loss", number(about?.summary?.loss ?? test)],
    ["Test accuracy", number(about?.summary?.accuracy?.mean ?? accuracy)],
    ["Gap", number(p.gap)],
    ["Theta", number(p.theta)],
    ["Sent by a peer", bytes(p.sent_bytes)],
  ].filter(([name, value]) => value !== NONE || ALWAYS.includes(name));
  const list = $("figures");
  const names = figures.map(([name]) => name).join();
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    list.replaceChildren(...figures.map(([name]) => h("div", {}, h("dt", {}, name), h("dd", {}))));
  }
  figures.forEach(([, value], i) => setText(list.children[i].lastChild, value));
}
