// Curves that the reader adds: those of single workers and of other runs. Each has a look of its own while it is there.

import { Columns } from "./columns.js";
import { Run, columnsOf } from "./store.js";
import { ask } from "./stream.js";

const FIRST_SERIES = 2; // 0 and 1 are the run's own curves

/** Chosen workers and runs. changed() is called when their curves do, failed(text) with the server's sentence. */
export class Overlays {
  workers = new Map(); // by rank: { rank, series, columns }
  runs = new Map(); // by id: { id, name, series, curve, scores, partial }

  constructor({ changed, failed }) {
    this.changed = changed;
    this.failed = failed;
  }

  /** Adds the curve of a worker, or removes it. */
  async flipWorker(id, rank) {
    if (this.workers.delete(rank)) {
      this.changed();
      return;
    }
    this.workers.set(rank, { rank, series: this.#free(), columns: new Columns(["round", "time_s", "bytes", "loss"]) });
    this.changed();
    await this.#readWorker(id, rank);
  }

  /** Adds the curves of another run, or removes them. */
  async setRun(id, on) {
    if (!on) {
      this.runs.delete(id);
      this.changed();
      return;
    }
    const empty = new Run();
    this.runs.set(id, { id, name: id, series: this.#free(), curve: empty.curve, scores: empty.scores });
    this.changed();
    await this.#readRun(id);
  }

  /** Asks again for what is incomplete: curves of workers while their run continues, and runs that continue or are still read. */
  refresh({ id, running }) {
    if (running) {
      this.workers.forEach(({ rank }) => this.#readWorker(id, rank));
    }
    this.runs.forEach((run) => run.partial && this.#readRun(run.id));
  }

  clearWorkers() {
    this.workers.clear();
  }

  #free() {
    const used = new Set([...this.workers.values(), ...this.runs.values()].map(({ series }) => series));
    let series = FIRST_SERIES;
    while (used.has(series)) {
      series++;
    }
    return series;
  }

  async #readWorker(id, rank) {
    await this.#reading(async () => {
      const { curve } = await ask(`api/runs/${encodeURIComponent(id)}/workers/${rank}`);
      const worker = this.workers.get(rank);
      if (worker && curve) {
        worker.columns = columnsOf(curve);
      }
    });
  }

  async #readRun(id) {
    await this.#reading(async () => {
      const run = new Run();
      run.take({ ...await ask(`api/runs/${encodeURIComponent(id)}`), reset: true });
      const overlay = this.runs.get(id);
      if (overlay) {
        Object.assign(overlay, { name: nameOf(run), curve: run.curve, scores: run.scores, partial: run.running || run.reading < 1 });
      }
    });
  }

  async #reading(read) {
    try {
      await read();
      this.changed();
    } catch (error) {
      this.failed(error.message);
    }
  }
}

/** Name for a legend. Cells of a comparison have one name, so their folders tell them apart. */
function nameOf({ id, about }) {
  return about?.name && id.startsWith(about.name) ? `${about.name} (${about.method})` : id;
}
