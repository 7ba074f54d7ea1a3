// The page with made-up runs: sizes, themes, keys, lost connections, and what axe-core finds.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createRequire } from "node:module";
import { openPage, settled, startBrowser, until } from "./browser.mjs";
import { serve } from "./server.mjs";
import { curve, makeRun, makeState } from "./synthetic.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser;
before(async () => { browser = await startBrowser(); });
after(() => browser.close());

/** Opens the page with a run, calls use, and checks that the page asked only one host and complained of nothing. */
async function withPage(answers, look, use) {
  const server = await serve({ worker: curve(200, 20, 9), ...answers });
  const opened = await openPage(browser, server.url, look);
  try {
    await use({ ...opened, server });
    const foreign = opened.requests.filter((url) => !url.startsWith(server.url));
    assert.deepEqual(foreign, [], "requests that leave the machine");
    assert.deepEqual(opened.complaints.filter((text) => !text.includes("ERR_")), [], "the console");
  } finally {
    await opened.page.close();
    await server.close();
  }
}

const drawn = (page) => until(page, () => document.querySelectorAll(".u-over").length === 3);
const answersOf = (...runs) => ({ state: makeState(runs), runs });
const full = () => answersOf(
  { ...makeRun(), sentences: [{ kind: "slow", severity: "warning", text: "workers 4 and 6 wait for worker 5 in 61 % of rounds", worker: 5 }] },
  makeRun({ id: "earlier", state: "finished", points: 300 }),
);

const cell = (label, seed, state, more) => ({ label, network: "fast", seed, state, run: null, rounds: 0, rounds_of: 600, loss: null, accuracy: null, time_s: null, bytes: null, error: "", ...more });
const comparison = {
  name: "moniqua-fig1", mode: "sim", labels: ["D-PSGD", "Moniqua 8b"], networks: [{ name: "fast", rate_bits_per_s: 0, latency_s: 0 }], seeds: [1, 2], done: 2, of: 4,
  target: "training loss 0.4", times: [{ label: "D-PSGD", network: "fast", time: "at most 1.68" }],
  cells: [cell("D-PSGD", 1, "ok", { run: "made", loss: 0.5, accuracy: 0.8, time_s: 10, bytes: 1e6 }), cell("D-PSGD", 2, "ok", { loss: 0.7, accuracy: 0.9, time_s: 12, bytes: 1e6 }),
    cell("Moniqua 8b", 1, "running", { rounds: 150 }), cell("Moniqua 8b", 2, "failed", { error: "no memory" })],
};

for (const scheme of ["light", "dark"]) {
  for (const width of [320, 400, 1280, 2560]) {
    test(`axe-core finds nothing serious, and nothing is cut off: ${width} pixels, ${scheme}`, async () => {
      await withPage({ ...full(), state: { ...full().state, comparison } }, { width, scheme }, async ({ page }) => {
        await drawn(page);
        await page.evaluate(() => document.querySelectorAll("details").forEach((list) => { list.open = true; }));
        await settled(page);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "the page scrolls sideways");
        await page.evaluate(axe); // by the debugger: the policy of the page stays as it is
        const { violations } = await page.evaluate(() => window.axe.run());
        const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3)}`), []);
      });
    });
  }
}

const open = () => ({ ...makeRun({ workers: 4 }), members: {
  now: { view: 3, first: 33, members: [0, 3, 4, 5], names: ["attic", "loft", "barn", "shed"], dead: [2], why: "machine desk was silent for 12 s; machine shed joins" },
  names: { 0: "attic", 1: "shelf", 2: "desk", 3: "loft", 4: "barn", 5: "shed" }, graph: "ring of 4", layout: { kind: "ring", rows: 0, cols: 0 }, joined: [5], left: [2],
  past: [{ view: 0, first: 0, members: 4, why: "" }, { view: 3, first: 33, members: 4, why: "machine desk was silent for 12 s; machine shed joins" }],
}, peers: makeRun({ workers: 6 }).peers.map((peer, id) => ({ ...peer, state: id === 2 ? "lost" : "training" })),
edges: [[0, 3], [3, 4], [4, 5], [0, 5]].map(([a, b]) => ({ ...makeRun().edges[0], a, b })) });

for (const width of [390, 1280]) {
  test(`the view of a run with members, and the next one: ${width} pixels`, () => withPage(answersOf(open()), { width }, async ({ page, server }) => {
    await drawn(page);
    const list = () => page.$$eval("#members-list li", (all) => all.map((li) => li.textContent));
    assert.deepEqual(await list(), ["0 attic", "3 loft", "4 barn", "+ 5 shed", "− 2 desk"]);
    assert.equal(await page.$eval("#members-why", (p) => p.textContent), "machine desk was silent for 12 s; machine shed joins");
    assert.deepEqual(await page.$$eval("#graph .node .rank", (all) => all.map((text) => text.textContent)), ["0", "3", "4", "5"]);
    await page.evaluate(() => document.querySelectorAll("details").forEach((more) => { more.open = true; }));
    await settled(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "the page scrolls sideways");
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    assert.deepEqual(violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
    const run = open();
    server.send("run", { id: "made", reset: false, version: 2, edges: run.edges.slice(1, 3).concat({ ...run.edges[0], a: 3, b: 5 }),
      members: { ...run.members, now: { view: 4, first: 60, members: [3, 4, 5], names: ["loft", "barn", "shed"], why: "machine attic left" }, joined: [], left: [0], graph: "ring of 3" } });
    await until(page, () => document.querySelector("#members-why").textContent === "machine attic left" && document.querySelectorAll("#graph .node").length === 3 && document.querySelectorAll("#graph .edge").length === 3);
    assert.deepEqual(await list(), ["3 loft", "4 barn", "5 shed", "− 0 attic"]);
  }));
}

test("the axes switch by mouse and by key", () => withPage(full(), {}, async ({ page }) => {
  await drawn(page);
  const canvas = () => page.$eval("#loss canvas", (c) => c.toDataURL());
  let last = await canvas();
  for (const act of [() => page.click("input[value=seconds] + span"), () => page.keyboard.press("b"), () => page.keyboard.press("x"), () => page.keyboard.press("y"), () => page.keyboard.press("a")]) {
    await act();
    await settled(page);
    const now = await canvas();
    assert.notEqual(now, last, "the chart did not change");
    last = now;
  }
  await page.keyboard.press("?");
  assert.equal(await page.$eval("#keys", (dialog) => dialog.open), true);
  await page.keyboard.press("Escape");
  await page.keyboard.press("c");
  await page.keyboard.press("c");
  assert.equal(await page.$eval("html", (html) => html.dataset.theme), "dark");
}));

test("arrows, zoom and the list of numbers tell the values of a chart", () => withPage(full(), {}, async ({ page }) => {
  await drawn(page);
  await page.keyboard.press("l");
  await page.keyboard.press("ArrowLeft");
  await settled(page);
  assert.match(await page.$eval("#loss .unseen[aria-live]", (p) => p.textContent), /^rounds: 3.\d{3}\. Training/);
  const before = await page.$eval("#loss canvas", (c) => c.toDataURL());
  await page.keyboard.press("+");
  await settled(page);
  assert.notEqual(await page.$eval("#loss canvas", (c) => c.toDataURL()), before, "zoom");
  await page.$eval("#loss details", (list) => { list.open = true; });
  await until(page, () => document.querySelectorAll("#loss tbody tr").length >= 10);
}));

test("a worker's curve and an earlier run are overlaid on the loss", () => withPage(full(), {}, async ({ page }) => {
  await drawn(page);
  await page.click("#peers tbody button");
  await page.click("#runs input[aria-label^='Overlay earlier']");
  await until(page, () => /Peer 0/.test(document.querySelector("#loss .legend").textContent) && /earlier.*\d/.test(document.querySelector("#loss .legend").textContent));
}));

test("a message moves the curve, and a dead peer shows in the graph, the table and the events", () => withPage(full(), {}, async ({ page, server }) => {
  await drawn(page);
  const run = makeRun();
  const peer = { ...run.peers[3], state: "returning", here: false, deaths: 1, detail: "it starts again" };
  server.send("run", { id: "made", reset: false, version: 2, peers: [peer], edges: [{ ...run.edges[2], state: "down" }],
    curve: { points: 401, at: [400], round: [4010], time_s: [124.3], bytes: [413e6], loss: [0.1], loss_min: [0.05], loss_max: [0.2], gap: [1], theta: [2] },
    events: [{ n: 2, round: 4010, time_s: 124, rank: 3, kind: "fault", severity: "problem", text: "worker 3 has died and starts again" }] });
  await until(page, () => document.querySelector("#graph .node.dead") && document.querySelector("#peers tr[data-state=returning]") && document.querySelector("#events li.problem"));
  assert.match(await page.$eval("#loss .legend", (list) => list.textContent), /0\.1/);
  await until(page, () => document.querySelector("#announce").textContent.includes("worker 3 has died"));
  assert.equal(await page.$eval("#graph .edge.down .cross", (cross) => cross.getAttribute("visibility")), "visible");
}));

test("a peer that is back at once shows for a while", () => withPage(full(), {}, async ({ page, server }) => {
  await drawn(page);
  const run = makeRun();
  const peer = { ...run.peers[3], deaths: (run.peers[3].deaths ?? 0) + 1 };
  server.send("run", { id: "made", reset: false, version: 2, peers: [peer], edges: [],
    curve: { points: 401, at: [], round: [], time_s: [], bytes: [], loss: [], loss_min: [], loss_max: [], gap: [], theta: [] } });
  await until(page, () => /just back/.test(document.querySelector("#graph .node.dead")?.getAttribute("aria-label")));
  await until(page, () => !document.querySelector("#graph .node.dead"));
}));

test("the page outlives lost connections and says when the server has ended", () => withPage(full(), {}, async ({ page, server }) => {
  await drawn(page);
  server.drop();
  await until(page, () => document.querySelector("#state").textContent.includes("No connection"));
  await until(page, () => document.querySelector("#state").textContent.includes("Running"));
  server.send("ended", { text: "peer dash runs shows it again" });
  await until(page, () => document.querySelector("#notice").textContent.includes("the last state is shown"));
  assert.equal(await page.$eval("#state", (p) => p.textContent), "Ended; last state shown");
  assert.equal(await page.$$eval(".u-over", (charts) => charts.length), 3, "the curves stay");
}));

test("an empty folder says so, and the first run shows up by itself", async () => {
  const run = makeRun();
  await withPage({ state: makeState([]), runs: [run] }, {}, async ({ page, server }) => {
    await until(page, () => document.querySelector("#runs .empty").offsetHeight > 0 && document.querySelector("#run-name").textContent === "No run yet");
    server.send("state", makeState([run]));
    await drawn(page);
  });
});

test("a run of one peer has no edges and no range", () => withPage(answersOf(makeRun({ workers: 1 })), {}, async ({ page }) => {
  await drawn(page);
  assert.equal(await page.$$eval("#graph .node", (nodes) => nodes.length), 1);
  assert.equal(await page.$$eval("#graph .edge", (edges) => edges.length), 0);
}));

test("64 peers on a torus stand in rows", () => withPage(answersOf(makeRun({ workers: 64, kind: "torus" })), {}, async ({ page }) => {
  await drawn(page);
  const places = await page.$$eval("#graph .node", (nodes) => nodes.map((node) => node.getAttribute("transform")));
  const columns = new Set(places.map((place) => place.split(/[( )]/)[1]));
  assert.equal(places.length, 64);
  assert.equal(columns.size, 8);
}));

test("of 1,000 workers only the rows in view exist, and all can be reached", () => withPage(answersOf(makeRun({ workers: 1000 })), {}, async ({ page }) => {
  await drawn(page);
  const rows = () => page.$$eval("#peers tbody tr:not(.spacer)", (all) => all.map((row) => row.textContent.match(/^\d+/)[0]));
  assert.ok((await rows()).length < 100, "too many rows");
  await page.$eval(".peers-frame", (frame) => { frame.scrollTop = frame.scrollHeight; });
  await until(page, () => document.querySelector("#peers tbody").textContent.includes("999"));
  assert.equal((await rows()).at(-1), "999");
  assert.ok(await page.$eval(".mosaic canvas", (canvas) => canvas.height > 100));
}));

test("cells of a comparison fill, with intervals", () => withPage({ ...full(), state: { ...full().state, comparison } }, {}, async ({ page, server }) => {
  await drawn(page);
  const text = () => page.$eval("#cells", (cells) => cells.textContent);
  assert.match(await text(), /0\.6 ± 1\.27/);
  assert.match(await text(), /25\s%/);
  assert.match(await text(), /Seconds to training loss 0\.4/);
  assert.match(await text(), /at most 1\.68/);
  const cells = comparison.cells.with(2, cell("Moniqua 8b", 1, "ok", { loss: 0.4 }));
  server.send("state", { ...full().state, comparison: { ...comparison, done: 3, cells } });
  await until(page, () => /Moniqua 8b.*0\.4/.test(document.querySelector("#cells").textContent));
}));

test("a text of a run is never read as markup", async () => {
  const run = makeRun();
  run.about.name = run.id = "<img src=x onerror=alert(1)>";
  run.events[0].text = "<b>bold</b>";
  await withPage(answersOf(run), {}, async ({ page }) => {
    await drawn(page);
    assert.equal(await page.$$eval("main img, main b, header img", (all) => all.length), 0);
    assert.equal(await page.$eval("#run-name", (h1) => h1.textContent), run.about.name);
  });
});
