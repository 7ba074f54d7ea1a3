// Numbers as people read them, by the rules of the Go package internal/human: amounts and times have three significant
// digits, other numbers four. The table testdata/numbers.json there tests both.

export const NONE = "–";

/** Number with four significant digits; very small and very large ones in powers of ten. */
export function number(x) {
  if (x === null || x === undefined || Number.isNaN(x)) {
    return NONE;
  }
  if (!Number.isFinite(x)) {
    return x > 0 ? "∞" : "−∞";
  }
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 999999.5)) {
    return power(x);
  }
  return size >= 999.95 ? count(x) : minus(trimmed(x.toPrecision(4)));
}

/** Whole number with thin spaces between groups of three digits. */
export function count(n) {
  if (n === null || n === undefined || Number.isNaN(n)) {
    return NONE;
  }
  return minus(String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f"));
}

const BYTES = ["B", "kB", "MB", "GB", "TB"];

/** Bytes in decimal units, as the program's tables have them. */
export function bytes(n) {
  if (n === null || n === undefined || Number.isNaN(n)) {
    return NONE;
  }
  let unit = 0;
  while (Math.abs(n) >= 999.5 && unit < BYTES.length - 1) {
    n /= 1000;
    unit++;
  }
  const digits = unit === 0 || n >= 999.5 ? String(Math.round(n)) : trimmed(n.toPrecision(3));
  return `${minus(digits)}\u00a0${BYTES[unit]}`;
}

/** Seconds as 1.2 ms, 3.4 s, 5 min 06 s or 2 h 03 min. */
export function seconds(s) {
  if (s === null || s === undefined || Number.isNaN(s)) {
    return NONE;
  }
  if (s === 0) {
    return "0\u00a0s";
  }
  if (Math.abs(s) < 0.9995e-3) {
    return `${trimmed((s * 1e6).toPrecision(3))}\u00a0µs`;
  }
  if (Math.abs(s) < 0.9995) {
    return `${trimmed((s * 1e3).toPrecision(3))}\u00a0ms`;
  }
  if (s < 99.95) {
    return `${trimmed(s.toPrecision(3))}\u00a0s`;
  }
  const whole = Math.round(s);
  if (whole < 3600) {
    return `${Math.floor(whole / 60)}\u00a0min ${pad(whole % 60)}\u00a0s`;
  }
  const minutes = Math.round(s / 60);
  return `${Math.floor(minutes / 60)}\u00a0h ${pad(minutes % 60)}\u00a0min`;
}

/** Share of 1 as a percentage: below 10 % with two digits. */
export function percent(x) {
  if (x === null || x === undefined || Number.isNaN(x)) {
    return NONE;
  }
  return `${x > 0 && x < 0.0995 ? trimmed((100 * x).toPrecision(2)) : String(Math.round(100 * x))}\u00a0%`;
}

/** Words after a number: plural(1, "peer") is "1 peer". */
export function plural(n, word) {
  return `${count(n)}\u00a0${word}${n === 1 ? "" : "s"}`;
}

function power(x) {
  const [digits, exponent] = x.toExponential(3).split("e");
  const raised = exponent.replace("+", "").replace(/./g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)]));
  const factor = trimmed(digits);
  return factor === "1" ? `10${raised}` : `${minus(factor)}×10${raised}`;
}

const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
const minus = (text) => text.replace(/^-/, "−");
const pad = (n) => String(n).padStart(2, "0");
