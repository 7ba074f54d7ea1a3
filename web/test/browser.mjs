// A headless Chromium whose pages record what they ask for and what they complain of.

import puppeteer from "puppeteer-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Starts Chromium: that of CHROMIUM, or one at a usual place. */
export async function startBrowser() {
  const { existsSync } = await import("node:fs");
  const executablePath = process.env.CHROMIUM ?? PLACES.find((path) => existsSync(path));
  if (!executablePath) {
    throw new Error("no Chromium: install it, or set CHROMIUM to its path");
  }
  return puppeteer.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"], protocolTimeout: 300_000 });
}

/** Opens a page. Returns { page, requests, complaints }: addresses that it asked for, errors and warnings of its console. */
export async function openPage(browser, url, { width = 1280, height = 900, scheme = "light", scale = 1, reduced = false } = {}) {
  const page = await browser.newPage();
  const [requests, complaints] = [[], []];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => ["error", "warn"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error.stack ?? error)));
  await page.setViewport({ width, height, deviceScaleFactor: scale });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: reduced ? "reduce" : "no-preference" },
  ]);
  await page.goto(url, { waitUntil: "load" });
  return { page, requests, complaints };
}

/** Waits until check, a function of the page, is true. */
export const until = (page, check, ...args) => page.waitForFunction(check, { timeout: 120_000, polling: 100 }, ...args);

/** Waits until two frames are drawn. */
export const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
