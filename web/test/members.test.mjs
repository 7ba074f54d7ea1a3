// The page during a real run whose members join, leave and die: the panel and the graph follow the views.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openPage, startBrowser, until } from "./browser.mjs";
import { startLab } from "./lab.mjs";

let browser;
let lab;
before(async () => {
  browser = await startBrowser();
  lab = await startLab(["members", "--set", "train.rounds=1000000", "--set", "membership.grace=2s"]);
});
after(async () => {
  await lab?.stop();
  await browser.close();
});

test("the page follows the views of a run", async () => {
  const { page, requests, complaints } = await openPage(browser, lab.url, { width: 390 });
  await until(page, () => { // one view may have several changes
    const count = (selector) => document.querySelectorAll(selector).length;
    const ids = [...document.querySelectorAll("#members-list button")].map((button) => button.textContent.replace("+ ", ""));
    return ids.join() === "0,1,4,5,6,7,8" && count("#graph .node") === 7 && count("#graph .edge") === 7;
  });
  assert.equal(await page.$eval("#peers tr[data-state=lost] th", (th) => th.textContent), "3");
  await until(page, () => document.querySelector("#peers tr[data-state=done] th")?.textContent === "2");
  const past = await page.$$eval("#members-past tr", (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  assert.deepEqual([past[0][2], past.at(-1)[0], past.at(-1)[2], past.at(-1)[3]], ["7", "0", "8", "the founders"]);
  for (const why of ["machine peer 8 joins", "machine peer 3 was silent for 2", "machine peer 2 left"]) {
    assert.ok(past.some((row) => row[3].includes(why)), why);
  }
  assert.equal(await page.$eval("#members-why", (p) => p.textContent), past[0][3]);
  assert.match(await page.$eval("#graph > .note", (p) => p.textContent), /^ring of 7/);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "the page scrolls sideways");
  assert.deepEqual(requests.filter((url) => !url.startsWith(lab.url)), [], "requests that leave the machine");
  assert.deepEqual(complaints, [], "the console");
});
