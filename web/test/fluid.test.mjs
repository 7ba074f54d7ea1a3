// Frame times of the page with a long run. The server merges 8 peers with 100,000 records each to 2,000 points, and a
// worker's curve to 500 (docs/dash.md). All eight workers' curves are drawn, two messages a second arrive, and the
// reader points, zooms and switches axes. A second test does the same with 100,000 points that nobody merged.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openPage, startBrowser, until } from "./browser.mjs";
import { serve } from "./server.mjs";
import { curve, makeRun, makeState } from "./synthetic.mjs";

const SECONDS = 6;
let browser;
before(async () => { browser = await startBrowser(); });
after(() => browser.close());

test("8 peers with 100,000 records each, merged as the server does, stay fluid", async () => {
  const { still, live } = await measure({ points: 2000, every: 50, workers: 8 });
  assert.ok(live.median < 2 * still.median + 20, `a median frame takes ${live.median} ms, ${still.median} of a page at rest`);
});

test("100,000 points that nobody merged can still be used", async () => {
  const { live } = await measure({ points: 100_000, every: 1, workers: 0 });
  assert.ok(live.median < 250, `a median frame takes ${live.median} ms`);
});

/** Frame times of the page at rest, and in use. */
async function measure({ points, every, workers }) {
  const run = { ...makeRun({ points: 400 }), curve: curve(points, every) };
  const server = await serve({ state: makeState([run]), runs: [run], worker: curve(500, 200, 9) });
  const { page } = await openPage(browser, server.url);
  try {
    await until(page, () => document.querySelectorAll(".u-over").length === 3);
    const still = await frames(page, () => wait(2000));
    for (let rank = 0; rank < workers; rank++) {
      await page.click(`#peers button[aria-label^="Peer ${rank}:"]`);
    }
    await until(page, (n) => document.querySelectorAll("#loss .legend li").length === n + 2, workers);
    const live = await frames(page, () => use(page, server, points, every));
    console.log(`${points} points, at rest: ${told(still)}`);
    console.log(`${points} points and ${workers} workers, in use: ${told(live)}`);
    return { still, live };
  } finally {
    await page.close();
    await server.close();
  }
}

/** Messages twice a second, and a reader who points, zooms and switches axes. */
async function use(page, server, points, every) {
  const box = await (await page.$("#loss .u-over")).boundingBox();
  const keys = ["s", "b", "x", "y", "r", "x"];
  for (let step = 0; step < SECONDS * 2; step++) {
    const progress = { ...makeRun().progress, round: (points + step) * every };
    server.send("run", { id: "made", reset: false, version: 2 + step, progress, peers: makeRun({ points: 400 + step }).peers, curve: pointAt(points + step, every) });
    for (let i = 0; i < 10; i++) {
      await page.mouse.move(box.x + (box.width * (i + 1)) / 12, box.y + box.height / 2);
      await wait(40);
    }
    await page.keyboard.press(keys[step % keys.length]);
  }
}

/** The next point of a curve, as a difference. */
function pointAt(i, every) {
  const point = { points: i + 1, at: [i] };
  for (const [name, values] of Object.entries(curve(2))) {
    if (Array.isArray(values) && name !== "at") {
      point[name] = [values[1]];
    }
  }
  return { ...point, round: [(i + 1) * every], time_s: [(i + 1) * every * 0.031], bytes: [(i + 1) * every * 103_000] };
}

/** Times between frames while an action runs, in ms. */
async function frames(page, action) {
  await page.evaluate(() => {
    window.frames_ = [];
    let last = performance.now();
    const next = (now) => {
      window.frames_.push(now - last);
      last = now;
      window.handle_ = requestAnimationFrame(next);
    };
    window.handle_ = requestAnimationFrame(next);
  });
  await action();
  const times = await page.evaluate(() => {
    cancelAnimationFrame(window.handle_);
    return window.frames_.slice(1);
  });
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  return { count: times.length, median: at(0.5), p95: at(0.95), p99: at(0.99), longest: times.at(-1) };
}

const told = ({ count, median, p95, p99, longest }) =>
  `${count}, median ${median.toFixed(1)} ms, 95 % ${p95.toFixed(1)} ms, 99 % ${p99.toFixed(1)} ms, longest ${longest.toFixed(1)} ms`;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
