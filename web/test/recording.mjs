// Writes docs/pictures/lab-SCHEME.webp: a moving picture of "peer lab ring8-fashion" over links of 40 Mbit/s, which needs the
// data set. The terminal comes first, then the page of the dash while the run goes on, then the terminal with the
// result. It plays six times as fast as the run. img2webp (package webp) joins the frames.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openPage, settled, startBrowser } from "./browser.mjs";
import { program } from "./lab.mjs";

const WORDS = ["lab", "ring8-fashion", "--set", "limit.rate=40mbit", "--dash"];
const [WIDTH, HEIGHT, COLUMNS, ROWS] = [960, 680, 104, 37];
const WIDER = 1.25; // the page of the dash, which is then scaled down
const TABLE = 6000; // milliseconds for which the terminal shows its table
const EVERY = 1500; // milliseconds between two pictures of the dash
const SPEED = 6; // of the film, against the run
const [TYPING, END] = [70, 6000]; // milliseconds for a key, and for the result
const here = fileURLToPath(new URL(".", import.meta.url));
const THEMES = {
  light: { background: "#ffffff", foreground: "#24292f", cursor: "#ffffff", green: "#116329" },
  dark: { background: "#0d1117", foreground: "#e6edf3", cursor: "#0d1117", green: "#7ee787" },
};

const folder = mkdtempSync(join(tmpdir(), "recording-"));
const browser = await startBrowser();
const { shots, output, first } = await record();
for (const scheme of Object.keys(THEMES)) {
  await film(scheme);
}
await browser.close();
rmSync(folder, { recursive: true });

/** Runs the lab in a terminal. Returns pictures of the dash by scheme, what the terminal got, and when the dash was ready. */
async function record() {
  const start = Date.now();
  const line = `stty cols ${COLUMNS} rows ${ROWS}; exec '${program}' ${WORDS.join(" ")}`;
  const env = { ...process.env, TERM: "xterm-256color", SHELL: "/bin/bash" };
  const lab = spawn("script", ["-qec", line, "/dev/null"], { cwd: folder, env });
  const output = [];
  let over = false;
  lab.on("exit", () => (over = true));
  lab.stdout.on("data", (data) => output.push({ at: Date.now() - start, data: data.toString("latin1") }));
  const url = await address(output, () => over);
  const view = { width: WIDTH * WIDER, height: HEIGHT * WIDER, scale: 1 / WIDER, reduced: true };
  const pages = [];
  for (const scheme of Object.keys(THEMES)) {
    pages.push([scheme, (await openPage(browser, url, { ...view, scheme })).page]);
  }
  const first = Date.now() - start;
  const shots = [];
  while (!over) {
    const began = Date.now();
    const shot = { at: began - start };
    for (const [scheme, page] of pages) {
      await page.bringToFront();
      shot[scheme] = await page.screenshot({ type: "png" });
    }
    shots.push(shot);
    await new Promise((done) => setTimeout(done, Math.max(0, EVERY - (Date.now() - began))));
  }
  return { shots, output, first };
}

async function address(output, over) {
  for (;;) {
    const found = output.map(({ data }) => data).join("").match(/http:\/\/127\.0\.0\.1:\d+\//);
    if (found) {
      return found[0];
    }
    if (over()) {
      throw new Error(`peer ${WORDS.join(" ")}: ${output.map(({ data }) => data).join("")}`);
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Joins the frames of one scheme into a file. */
async function film(scheme) {
  const frames = [];
  const add = (png, milliseconds) => {
    const path = join(folder, `${scheme}-${String(frames.length).padStart(4, "0")}.png`);
    writeFileSync(path, png);
    frames.push({ path, milliseconds });
  };
  const { page } = await openPage(browser, "about:blank", { width: WIDTH, height: HEIGHT, scheme });
  await page.setContent(`<body style="margin:0;padding:12px;background:${THEMES[scheme].background}"><div id="terminal"></div></body>`);
  await page.addStyleTag({ path: join(here, "..", "node_modules", "@xterm", "xterm", "css", "xterm.css") });
  await page.addScriptTag({ path: join(here, "..", "node_modules", "@xterm", "xterm", "lib", "xterm.js") });
  await page.evaluate((cols, rows, theme) => {
    window.terminal = new window.Terminal({ cols, rows, theme, fontFamily: "DejaVu Sans Mono, monospace", fontSize: 14, cursorBlink: false });
    window.terminal.open(document.getElementById("terminal"));
  }, COLUMNS, ROWS, THEMES[scheme]);
  const write = async (data) => {
    await page.evaluate((text) => new Promise((done) => window.terminal.write(Uint8Array.from(text, (c) => c.charCodeAt(0)), done)), data);
    await settled(page);
  };
  const command = `peer ${WORDS.join(" ")}`;
  await write("$ ");
  for (let i = 0; i < command.length; i += 3) {
    await write(command.slice(i, i + 3));
    add(await page.screenshot({ type: "png" }), 3 * TYPING);
  }
  await write("\r\n");
  let shown = 0;
  for (; shown < output.length && output[shown].at < first + TABLE; shown++) {
    await write(output[shown].data);
    const next = output[shown + 1]?.at ?? output[shown].at;
    if (next - output[shown].at >= 200) {
      add(await page.screenshot({ type: "png" }), (next - output[shown].at) / SPEED);
    }
  }
  const live = shots.filter(({ at }) => at >= first + TABLE);
  live.forEach((shot, i) => add(shot[scheme], ((live[i + 1]?.at ?? shot.at + EVERY) - shot.at) / SPEED));
  for (; shown < output.length; shown++) {
    await write(output[shown].data);
  }
  add(await page.screenshot({ type: "png" }), END);
  const path = join(here, "..", "..", "docs", "pictures", `lab-${scheme}.webp`);
  const list = frames.flatMap((frame) => ["-lossy", "-q", "60", "-m", "6", "-d", String(Math.round(frame.milliseconds)), frame.path]);
  execFileSync("img2webp", ["-loop", "0", "-min_size", ...list, "-o", path], { stdio: "ignore" });
  console.log(`${path}: ${frames.length} frames, ${Math.round(statSync(path).size / 1000)} kB`);
  await page.close();
}
