// Builds the page: bundles src with the pinned uPlot into app/dash/page and records the hashes of all sources
// and outputs in sums.txt there. A Go test compares them, so a page older than its sources is found without npm.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const out = join(root, "app", "dash", "page");

const licence = readFileSync(join(here, "node_modules", "uplot", "LICENSE"), "utf8").trim();
const notice = `/*!\nThis file contains uPlot (https://github.com/leeoniya/uPlot):\n\n${licence}\n*/`;

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.js" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none", // the banner has the whole licence
  banner: { js: notice, css: notice },
  outdir: out,
  write: false,
  logLevel: "warning",
});

mkdirSync(out, { recursive: true });
for (const file of result.outputFiles) {
  writeFileSync(file.path, file.contents);
}
for (const name of ["index.html", "icon.svg"]) {
  writeFileSync(join(out, name), readFileSync(join(here, "src", name)));
}

const sources = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));
const outputs = ["app.css", "app.js", "icon.svg", "index.html"].map((name) => join(out, name));
const settings = ["build.mjs", "package.json", "package-lock.json"].map((name) => join(here, name));
const sums = [...sources, ...settings, ...outputs]
  .map((path) => [relative(root, path).replaceAll("\\", "/"), createHash("sha256").update(readFileSync(path)).digest("hex")])
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([path, sum]) => `${sum}  ${path}\n`);
writeFileSync(join(out, "sums.txt"), sums.join(""));
