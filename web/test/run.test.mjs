// The page during a real run of 8 peers: curves move, axes switch, a killed peer turns up, no request leaves the machine.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openPage, settled, startBrowser, until } from "./browser.mjs";
import { startLab } from "./lab.mjs";

const LATEST = 2000; // ms from the death of a peer to its mark on the page

let browser;
let lab;
before(async () => {
  browser = await startBrowser();
  lab = await startLab(["ring8", "--set", "train.rounds=20000", "--set", "limit.latency=10ms"]);
});
after(async () => {
  await lab?.stop();
  await browser.close();
});

test("8 peers on the page", async () => {
  const { page, requests, complaints } = await openPage(browser, lab.url);
  await until(page, () => document.querySelectorAll("#peers tbody tr").length === 8 && document.querySelectorAll("#graph .edge").length === 8);
  await until(page, () => document.querySelectorAll(".u-over").length === 3);

  const drawn = () => page.$eval("#loss canvas", (canvas) => canvas.toDataURL());
  const round = () => page.$eval("#figures dd", (dd) => Number(dd.textContent.replace(/\D/g, "")));
  const [first, began] = [await drawn(), await round()];
  await until(page, (from) => Number(document.querySelector("#figures dd").textContent.replace(/\D/g, "")) > from + 30, began);
  assert.notEqual(await drawn(), first, "the curves did not move");

  for (const axis of ["seconds", "bytes", "rounds"]) {
    const before = await drawn();
    await page.click(`input[value=${axis}] + span`);
    await settled(page);
    assert.notEqual(await drawn(), before, `the axis of ${axis}`);
  }

  await page.evaluate(() => {
    window.seen = 0;
    const look = () => {
      window.seen ||= document.querySelector("#graph .node.dead") ? Date.now() : 0;
      requestAnimationFrame(look);
    };
    look();
  });
  const killed = Date.now();
  lab.kill(3);
  await until(page, () => window.seen > 0);
  const took = await page.evaluate(() => window.seen) - killed;
  console.log(`a killed peer shows after ${took} ms`);
  assert.match(await page.$eval("#graph .node.dead", (node) => node.getAttribute("aria-label")), /^Peer 3: /);
  assert.ok(took < LATEST, `it took ${took} ms`);
  await until(page, () => !document.querySelector("#graph .node.dead"));

  assert.deepEqual(requests.filter((url) => !url.startsWith(lab.url)), [], "requests that leave the machine");
  assert.deepEqual(complaints, [], "the console");
});

test("the page stays when the run ends", async () => {
  const { page } = await openPage(browser, lab.url);
  await until(page, () => document.querySelectorAll(".u-over").length === 3);
  await lab.stop();
  lab = null;
  await until(page, () => /Ended|Stopped|No connection/.test(document.querySelector("#state").textContent));
  assert.equal(await page.$$eval(".u-over", (charts) => charts.length), 3);
});
