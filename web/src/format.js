// Numbers as people read them: a unit, three significant digits, and a dash for a number that does not exist.

export const NONE = "–";

/** Number with about three significant digits; very small and very large ones in powers of ten. */
export function number(x) {
  if (x === null || x === undefined || Number.isNaN(x)) {
    return NONE;
  }
  if (!Number.isFinite(x)) {
    return x > 0 ? "∞" : "−∞";
  }
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    return power(x);
  }
  if (size >= 1000) {
    return count(Math.round(x));
  }
  return minus(x.toPrecision(3).includes("e") ? String(Math.round(x)) : trimmed(x.toPrecision(3)));
}

/** Whole number with thin spaces between groups of three digits. */
export function count(n) {
  if (n === null || n === undefined || Number.isNaN(n)) {
    return NONE;
  }
  return minus(String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f"));
}

const BYTES = ["B", "kB", "MB", "GB", "TB", "PB"];

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
  const digits = unit === 0 ? String(Math.round(n)) : trimmed(n.toPrecision(3));
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
  if (Math.abs(s) < 1e-3) {
    return `${trimmed((s * 1e6).toPrecision(3))}\u00a0µs`;
  }
  if (Math.abs(s) < 0.9995) {
    return `${trimmed((s * 1e3).toPrecision(3))}\u00a0ms`;
  }
  if (s < 99.95) {
    return `${trimmed(s.toPrecision(3))}\u00a0s`;
  }
  const whole = Math.round(s);
  const [h, m, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h > 0 ? `${h}\u00a0h ${pad(m)}\u00a0min` : `${m}\u00a0min ${pad(rest)}\u00a0s`;
}

/** Share of 1 as a percentage. */
export function percent(x) {
  if (x === null || x === undefined || Number.isNaN(x)) {
    return NONE;
  }
  return `${trimmed((100 * x).toPrecision(Math.abs(x) < 0.00995 ? 1 : Math.abs(x) < 0.0995 ? 2 : 3))}\u00a0%`;
}

/** Words after a number: plural(1, "peer") is "1 peer". */
export function plural(n, word) {
  return `${count(n)}\u00a0${word}${n === 1 ? "" : "s"}`;
}

function power(x) {
  const [digits, exponent] = x.toExponential(2).split("e");
  const raised = exponent.replace("+", "").replace(/./g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)]));
  const factor = trimmed(digits);
  return factor === "1" ? `10${raised}` : `${minus(factor)}×10${raised}`;
}

const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
const minus = (text) => text.replace(/^-/, "−");
const pad = (n) => String(n).padStart(2, "0");
