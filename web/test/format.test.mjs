// The page writes numbers as the program does: one table tests both.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bytes, number, percent, seconds } from "../src/format.js";

const table = JSON.parse(readFileSync(new URL("../../internal/human/testdata/numbers.json", import.meta.url), "utf8"));
const write = { number, size: bytes, seconds, percent };
const DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** The text without what only a page has: thin spaces, signs and powers of ten. */
function plain(text) {
  const power = text.match(/^(.*?)×?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/);
  if (power) {
    const exponent = power[2].replace("⁻", "").replace(/./g, (c) => DIGITS.indexOf(c)).padStart(2, "0");
    text = `${power[1] || 1}e${power[2].startsWith("⁻") ? "-" : "+"}${exponent}`;
  }
  return text.replaceAll("\u00a0", " ").replaceAll("\u202f", "").replace(/[−–]/, "-");
}

for (const [kind, cases] of Object.entries(table)) {
  test(`${kind}: as in internal/human`, () => {
    for (const [value, want] of cases) {
      assert.equal(plain(write[kind](value)), want, `${kind} ${value}`);
    }
  });
}
