// Writes docs/pictures/dash-WIDTH-SCHEME.png: the page during a run of 8 peers of which one has just been killed, with
// the curves of two earlier runs over it. The lab is halted meanwhile, so that all pictures show the same moment.

import { execFileSync } from "node:child_process";
import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openPage, settled, startBrowser, until } from "./browser.mjs";
import { program, startLab } from "./lab.mjs";

const ROUND = 700; // at which the peer is killed
const SIZES = [[400, 800], [1280, 900], [2560, 1440]];
const pictures = join(fileURLToPath(import.meta.url), "..", "..", "..", "docs", "pictures");

const folder = mkdtempSync(join(tmpdir(), "dash-pictures-"));
const file = join(folder, "ring8.yaml");
writeFileSync(file, `name: ring8
topology: {size: 8}
algorithm: {name: dpsgd, codec: moniqua, bits: 8}
data: {name: glyphs}
model: {name: mlp, hidden: [64]}
train: {rounds: 1600, batch: 32, step_size: 0.02, slow: {"2": 3}}
limit: {rate: 40mbit, latency: 2ms, links: {"4-5": {rate: 8mbit, latency: 2ms}}}
output: {evaluate: 100}
`);
const settings = ["--set", `output.dir=${join(folder, "runs")}`];
for (const [name, more] of [["float32", "algorithm.codec=full"], ["4-bit", "algorithm.bits=4"]]) {
  execFileSync(program, ["sim", file, ...settings, "--set", `name=${name}`, "--set", more], { stdio: "ignore", cwd: folder });
}
const lab = await startLab([file, ...settings]);
const browser = await startBrowser();
const views = [];
for (const scheme of ["light", "dark"]) {
  for (const [width, height] of SIZES) {
    const { page } = await openPage(browser, lab.url, { width, height, scheme });
    await until(page, () => document.querySelectorAll(".u-over").length === 3);
    for (const box of await page.$$("#runs input:not([disabled])")) {
      await box.click();
    }
    views.push({ page, path: join(pictures, `dash-${width}-${scheme}.png`) });
  }
}
await views[0].page.waitForFunction((round) => Number(document.querySelector("#figures dd").textContent.replace(/\D/g, "")) > round, { timeout: 400_000, polling: 200 }, ROUND);
lab.kill(3);
await Promise.all(views.map(({ page }) => until(page, () => document.querySelector("#graph .node.dead"))));
lab.halt();
for (const { page, path } of views) {
  await page.bringToFront();
  await settled(page);
  await page.screenshot({ path, fullPage: true });
  console.log(`${path}: ${Math.round(statSync(path).size / 1000)} kB`);
}
await browser.close();
lab.proceed();
await lab.stop();
