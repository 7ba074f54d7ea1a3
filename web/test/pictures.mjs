// Writes docs/pictures/dash-WIDTH-SCHEME.webp: the page during a run of 8 peers that goes on without one, with
// the curves of two earlier runs over it. One link is slower than the others.

import { execFileSync } from "node:child_process";
import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openPage, settled, startBrowser, until } from "./browser.mjs";
import { program, startLab } from "./lab.mjs";

const ROUND = 500; // at which peer 3 dies
const SIZES = [[400, 800], [1280, 900], [2560, 1440]];
const pictures = join(fileURLToPath(import.meta.url), "..", "..", "..", "docs", "pictures");

const folder = mkdtempSync(join(tmpdir(), "dash-pictures-"));
const file = join(folder, "ring8.yaml");
writeFileSync(file, `name: ring8
topology: {size: 8}
algorithm: {name: dpsgd, codec: moniqua, bits: 8}
data: {name: glyphs}
model: {name: mlp, hidden: [64]}
train: {rounds: 2400, batch: 32, step_size: 0.02, slow: {"2": 3}}
limit: {rate: 40mbit, latency: 2ms, links: {"4-5": {rate: 8mbit, latency: 2ms}}}
faults: {on_lost_neighbor: reweight}
output: {evaluate: 100}
`);
const settings = ["--set", `output.dir=${join(folder, "runs")}`];
for (const [name, more] of [["float32", "algorithm.codec=full"], ["4-bit", "algorithm.bits=4"]]) {
  execFileSync(program, ["sim", file, ...settings, "--set", `name=${name}`, "--set", "train.rounds=900", "--set", more], { stdio: "ignore", cwd: folder });
}
const lab = await startLab([file, ...settings, "--fault", `at=${ROUND} kill=3 for=never`]);
await reached(ROUND - 100);
const browser = await startBrowser();
const { page } = await openPage(browser, lab.url);
await until(page, () => document.querySelectorAll(".u-over").length === 3);
for (const box of await page.$$("#runs input:not([disabled])")) {
  await box.click();
}
await page.keyboard.press("y");
await until(page, () => document.querySelector("#graph .node.dead") && !document.querySelector("#loss .legend").textContent.includes("–"));
await page.evaluate(() => document.activeElement.blur());
for (const scheme of ["light", "dark"]) {
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  for (const [width, height] of SIZES) {
    await page.setViewport({ width, height });
    await settled(page);
    await settled(page); // the charts follow the size of their frames a moment later
    const path = join(pictures, `dash-${width}-${scheme}.webp`);
    await page.screenshot({ path, type: "webp", quality: 76, fullPage: true });
    console.log(`${path}: ${Math.round(statSync(path).size / 1000)} kB`);
  }
}
await browser.close();
await lab.stop();

/** Waits until the run has reached a round. */
async function reached(round) {
  for (;;) {
    const { runs: [newest] } = await (await fetch(`${lab.url}api/state`)).json();
    if (newest?.rounds >= round) {
      return;
    }
    await new Promise((done) => setTimeout(done, 500));
  }
}
