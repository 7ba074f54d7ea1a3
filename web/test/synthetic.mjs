// Made-up runs of any size, in the shape that the server tells them.

/** Numbers from 0 to 1 by a linear congruential generator, the same in every run of a test. */
export function random(seed) {
  let x = seed >>> 0;
  return () => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return x / 2 ** 32;
  };
}

/** Edges of a graph by its kind: ring, torus of 8 columns, or complete. */
export function edgesOf(kind, n) {
  const edges = new Map();
  const add = (i, j) => i !== j && edges.set(`${Math.min(i, j)}-${Math.max(i, j)}`, [Math.min(i, j), Math.max(i, j)]);
  for (let i = 0; i < n; i++) {
    if (kind === "torus") {
      const columns = 8;
      const row = Math.floor(i / columns);
      add(i, row * columns + ((i + 1) % columns));
      add(i, (i + columns) % n);
    } else if (kind === "complete") {
      for (let j = 0; j < i; j++) {
        add(i, j);
      }
    } else {
      add(i, (i + 1) % n);
    }
  }
  return [...edges.values()];
}

/** Columns of a curve of n points. */
export function curve(points, every = 10, seed = 1) {
  const next = random(seed);
  const columns = { points, merged: 1, whole: true, at: [] };
  for (const name of ["round", "time_s", "bytes", "loss", "loss_min", "loss_max", "gap", "theta", "bits", "compute_s", "wait_s", "codec_s", "handover_s", "round_s"]) {
    columns[name] = new Array(points);
  }
  for (let i = 0; i < points; i++) {
    const loss = 0.25 + 2 * Math.exp((-6 * i) / points) * (0.9 + 0.2 * next());
    const [compute, wait, codec] = [0.018 + 0.004 * next(), 0.006 + 0.02 * next() ** 3, 0.003 + 0.001 * next()];
    columns.at.push(i);
    columns.round[i] = (i + 1) * every;
    columns.time_s[i] = (i + 1) * every * 0.031;
    columns.bytes[i] = Math.round((i + 1) * every * 103_000);
    columns.loss[i] = loss;
    columns.loss_min[i] = loss * (0.7 + 0.1 * next());
    columns.loss_max[i] = loss * (1.3 + 0.2 * next());
    columns.gap[i] = 0.05 * Math.exp((-4 * i) / points) * (0.8 + 0.4 * next());
    columns.theta[i] = 0.12 * Math.exp((-3.5 * i) / points);
    columns.bits[i] = 8;
    columns.compute_s[i] = compute;
    columns.wait_s[i] = wait;
    columns.codec_s[i] = codec;
    columns.handover_s[i] = 0;
    columns.round_s[i] = compute + wait + codec + 0.002;
  }
  return columns;
}

function scores(points, last) {
  const columns = { points, whole: true, at: [], round: [], time_s: [], bytes: [], loss: [], accuracy: [] };
  for (let i = 0; i < points; i++) {
    const share = (i + 1) / points;
    columns.at.push(i);
    columns.round.push(Math.round(share * last));
    columns.time_s.push(share * last * 0.031);
    columns.bytes.push(Math.round(share * last * 103_000));
    columns.loss.push(0.3 + 1.8 * Math.exp(-6 * share));
    columns.accuracy.push(0.91 - 0.6 * Math.exp(-5 * share));
  }
  return columns;
}

function peer(rank, n, round, next) {
  const waiting = next() < 0.3;
  const bytes = Math.round(round * 103_000 * (0.98 + 0.04 * next()));
  const amount = { payload: bytes, stream: bytes, wire: bytes };
  return {
    rank, state: waiting ? "waiting" : "training", detail: "", missing: waiting ? [(rank + 1) % n] : [], here: true, round: round + Math.floor(3 * next()),
    time_s: round * 0.031, loss: 0.3 + 0.1 * next(), gap: 0.01, theta: 0.02, bits: 8, rounds_per_s: 32 + next(),
    compute_s: 0.018 + 0.004 * next(), wait_s: 0.004 + 0.02 * next(), codec_s: 0.003, handover_s: 0, wait_share: 0.1 + 0.4 * next(),
    waited_for: 0.2 * next(), sent: amount, received: amount, sent_rate: 3.2e6, received_rate: 3.2e6, deaths: 0, violations: 0,
    repaired: 0, refused: 0, final: null,
  };
}

/** A complete run. */
export function makeRun({ id = "made", name = id, workers = 8, points = 400, kind = "ring", state = "running", of = 0 } = {}) {
  const next = random(workers + points);
  const round = points * 10;
  const peers = Array.from({ length: workers }, (_, rank) => peer(rank, workers, round, next));
  const edges = workers > 1 ? edgesOf(kind, workers).map(([a, b]) => ({
    a, b, state: "up", weight: 0.333, bytes: 41_000_000, rate: 2e6 + 4e6 * next(), limit: 12_500_000, load: 0.2 + 0.6 * next(), estimated: false,
    lost: 0, retries: 0, waited: peers[a].missing.includes(b) || peers[b].missing.includes(a),
  })) : [];
  const rounds_of = of || Math.round(round * 1.6);
  return {
    id, reset: true, version: 1, reading: 1,
    about: {
      name, mode: "lab", state, describe: `${id}: ${kind} of ${workers}, D-PSGD, 8-bit Moniqua, mlp on fashion-mnist with 50890 parameters`,
      method: "D-PSGD, 8-bit Moniqua", graph: `${kind} of ${workers}`, workers, rounds_of, began: "2026-11-23T13:50:07Z", virtual: false,
      every: 10, ended: "", summary: null,
    },
    progress: { round, least: round - 1, most: round + 2, rounds_of, time_s: round * 0.031, rounds_per_s: 32.3, left_s: (rounds_of - round) / 32.3,
      loss: 0.31, gap: 0.0102, theta: 0.0214, sent_bytes: round * 103_000, received_bytes: round * 103_000, accuracy: 0.903 },
    curve: curve(points), scores: scores(10, round), peers, edges,
    events: [{ n: 1, round: 0, time_s: 0, rank: null, kind: "run", severity: "note", text: `the run begins with ${workers} workers` }],
    sentences: [],
  };
}

/** The state of a folder with such runs. */
export function makeState(runs, more = {}) {
  return {
    version: "v1.2.0", folder: "runs", kind: runs.length > 1 ? "several" : "run", follows: true, main: runs[0]?.id ?? null, again: "peer dash runs",
    runs: runs.map(({ id, about, progress }) => ({
      id, name: about.name, began: about.began, state: about.state, algorithm: "dpsgd+moniqua", bits: 8, graph: about.graph.split(" ")[0],
      workers: about.workers, rounds: Math.round(progress.round), rounds_of: about.rounds_of, train_loss: progress.loss, loss: 0.33, accuracy: progress.accuracy,
      sent_bytes: progress.sent_bytes,
    })),
    comparison: null, ...more,
  };
}
