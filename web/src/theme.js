// Light and dark: the system's wish, or the reader's choice, which the browser remembers.

import { $, setText } from "./dom.js";

const KEY = "theme";
const CHOICES = ["system", "light", "dark"];
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = [];

let choice = CHOICES.includes(remembered()) ? remembered() : "system";

export const isDark = () => (choice === "system" ? system.matches : choice === "dark");

/** Calls draw after each change of colours. */
export function onTheme(draw) {
  listeners.push(draw);
}

/** Goes on to the next choice. */
export function nextTheme() {
  choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
  apply();
}

/** The value of a colour of app.css, such as "--ink". */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function startTheme() {
  $("theme").addEventListener("click", nextTheme);
  system.addEventListener("change", apply);
  matchMedia("print").addEventListener("change", apply);
  apply();
}

function apply() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  setText($("theme-name"), choice === "system" ? "Auto" : choice === "dark" ? "Dark" : "Light");
  for (const draw of listeners) {
    draw();
  }
}

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
