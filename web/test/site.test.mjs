// The documentation site that `make site` builds, opened from its folder: four pages in two sizes and two schemes, what
// axe-core finds, the search, and what leaves the machine. PICTURES may name a folder for pictures of what it opens.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { openPage, settled, startBrowser, until } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const site = fileURLToPath(new URL("../../site/html/", import.meta.url));
const { PICTURES } = process.env;
let browser;
before(async () => {
  assert.ok(existsSync(join(site, "index.html")), `${site} has no index.html: build it with make site`);
  if (PICTURES) {
    mkdirSync(PICTURES, { recursive: true });
  }
  browser = await startBrowser();
});
after(() => browser?.close());

/** Opens a page of the site, calls use, and checks that it asked for nothing elsewhere and complained of nothing. */
async function withPage(name, look, use) {
  const opened = await openPage(browser, pathToFileURL(join(site, name)).href, look);
  try {
    await use(opened.page);
    assert.deepEqual(opened.requests.filter((url) => !/^(file|data|blob|about):/.test(url)), [], "requests that leave the machine");
    assert.deepEqual(opened.complaints, [], "the console");
  } finally {
    await opened.page.close();
  }
}

for (const name of ["index.html", "quickstart.html", "choosing.html", "go.html"]) {
  for (const width of [390, 1280]) {
    for (const scheme of ["light", "dark"]) {
      test(`axe-core finds nothing serious, and nothing is cut off: ${name}, ${width} pixels, ${scheme}`, () => withPage(name, { width, scheme }, async (page) => {
        await settled(page);
        if (PICTURES) {
          await page.screenshot({ path: join(PICTURES, `${name.replace(".html", "")}-${width}-${scheme}.png`) });
        }
        const dark = await page.$eval("body", (body) => body.dataset.mdColorScheme === "slate");
        assert.equal(dark, scheme === "dark", "the page does not follow the system");
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "the page scrolls sideways");
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run({ preload: false }));
        const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3)}`), []);
      }));
    }
  }
}

for (const width of [390, 1280]) {
  test(`the search finds a page from a folder, ${width} pixels`, () => withPage("quickstart.html", { width }, async (page) => {
    if (width < 960) {
      await page.click("label[for=__search].md-header__button");
    }
    await page.type("input.md-search__input", "firewall");
    await until(page, () => [...document.querySelectorAll(".md-search-result__link")].some((link) => link.href.includes("lan.html")));
    if (PICTURES) {
      await page.screenshot({ path: join(PICTURES, `search-${width}.png`) });
    }
  }));
}

test("no page shows Markdown that was not understood, and none names another host's files", () => {
  const pages = readdirSync(site, { recursive: true }).filter((name) => name.endsWith(".html"));
  assert.ok(pages.length > 100, `the site has ${pages.length} pages`);
  for (const name of pages) {
    const html = readFileSync(join(site, name), "utf8");
    const foreign = html.match(/<(?:script|img|link|iframe)[^>]*(?:src|href)="?https?:[^>]*>/g);
    assert.equal(foreign, null, name);
    const article = html.match(/<article[^]*<\/article>/)?.[0] ?? "";
    const text = article.replace(/<(pre|code|script|style)\b[^]*?<\/\1>/g, "").replace(/<[^>]+>/g, "");
    assert.deepEqual(text.split("\n").filter((line) => /```|\*\*|^ *[*-] |\]\(|^ *\||`/.test(line)), [], name);
  }
});

test("every page of the navigation opens from the folder", () => withPage("index.html", {}, async (page) => {
  const links = await page.$$eval(".md-nav--primary a[href], .md-tabs a[href]", (all) => all.map(({ href }) => href.split("#")[0]));
  const missing = [...new Set(links)].filter((href) => !existsSync(fileURLToPath(href)));
  assert.ok(links.length > 60, `the navigation has ${links.length} links`);
  assert.deepEqual(missing, []);
}));
