// What the page knows: the state of the folder, the run that is shown, and the overlaid earlier runs. Messages
// of the server change it; docs/dash.md describes them.

import { Columns } from "./columns.js";

const CURVE = ["round", "time_s", "bytes", "loss", "loss_min", "loss_max", "gap", "theta", "bits",
  "compute_s", "wait_s", "codec_s", "handover_s", "round_s"];
const SCORES = ["round", "time_s", "bytes", "loss", "accuracy"];
const KEPT = 1000; // events

/** One run as the server tells it: complete at first, then differences. */
export class Run {
  id = "";
  about = null;
  progress = null;
  reading = 1;
  failed = ""; // why the record cannot be read
  curve = new Columns(CURVE);
  scores = new Columns(SCORES);
  peers = new Map(); // by rank
  edges = new Map(); // by "a-b"
  members = null; // the view, where members come and go
  events = [];
  sentences = [];

  /** Takes a message. Returns the parts that changed: about, curve, members, peers, edges, events, sentences. */
  take(message) {
    const changed = new Set();
    if (message.reset) {
      this.#clear(message.id);
      ["about", "curve", "members", "peers", "edges", "events", "sentences"].forEach((part) => changed.add(part));
    }
    this.reading = message.reading ?? this.reading;
    this.progress = message.progress ?? this.progress;
    this.failed = message.failed ?? (message.reset ? "" : this.failed);
    if (message.about) {
      this.about = message.about;
      changed.add("about");
    }
    for (const [name, columns] of [["curve", this.curve], ["scores", this.scores]]) {
      if (message[name]) {
        takeColumns(columns, message[name]);
        changed.add("curve");
      }
    }
    if (message.members) { // the message has all edges of the view
      this.members = message.members;
      this.edges.clear();
      changed.add("members").add("edges");
    }
    for (const peer of message.peers ?? []) {
      this.peers.set(peer.rank, peer);
      changed.add("peers");
    }
    for (const edge of message.edges ?? []) {
      this.edges.set(`${edge.a}-${edge.b}`, edge);
      changed.add("edges");
    }
    if (message.events?.length) {
      this.events = [...this.events, ...message.events].slice(-KEPT);
      changed.add("events");
    }
    if (message.sentences) {
      this.sentences = message.sentences;
      changed.add("sentences");
    }
    return changed;
  }

  /** Peers by rank. */
  get ranks() {
    return [...this.peers.values()].sort((a, b) => a.rank - b.rank);
  }

  get running() {
    return this.about?.state === "running";
  }

  #clear(id) {
    this.id = id;
    this.curve.clear();
    this.scores.clear();
    this.peers.clear();
    this.edges.clear();
    [this.events, this.sentences, this.about, this.progress, this.members] = [[], [], null, null, null];
  }
}

/** Sets and appends the points of a message: column[at[k]] = values[k]. */
export function takeColumns(columns, message) {
  if (message.whole) {
    columns.clear();
  }
  const names = Object.keys(message).filter((name) => columns.has(name));
  message.at.forEach((index, k) => {
    const row = Object.fromEntries(names.map((name) => [name, message[name][k]]));
    if (index < columns.length) {
      columns.set(index, row);
    } else {
      columns.push(row);
    }
  });
}

/** Columns of one worker's curve, or of an earlier run. */
export function columnsOf(message) {
  const columns = new Columns(CURVE);
  takeColumns(columns, { ...message, whole: true });
  return columns;
}
