// Switches above the charts: groups of radio buttons that look like one bar, and buttons that stay pressed.

import { h } from "./dom.js";

/**
 * Choice of one of several: options are [value, text] pairs. Returns { element, value, choose(value), next() }; chosen
 * is called after every change.
 */
export function choice(name, label, options, value, chosen) {
  const inputs = options.map(([key]) => h("input", {
    type: "radio", name, value: key, checked: key === value, onchange: () => set(key),
  }));
  const control = {
    value,
    element: h("fieldset", { class: "choice" }, h("legend", { class: "unseen" }, label),
      options.map(([, text], i) => h("label", {}, inputs[i], h("span", {}, text)))),
    choose: (key) => {
      const at = options.findIndex(([option]) => option === key);
      if (at >= 0) {
        inputs[at].checked = true;
        set(key);
      }
    },
    next: () => control.choose(options[(options.findIndex(([key]) => key === control.value) + 1) % options.length][0]),
  };
  const set = (key) => {
    control.value = key;
    chosen(key);
  };
  return control;
}

/** Button that is on or off. Returns { element, on, flip() }. */
export function toggle(text, on, changed) {
  const control = { on, element: h("button", { type: "button", class: "toggle", onclick: () => control.flip() }, text) };
  control.flip = () => {
    control.on = !control.on;
    control.element.setAttribute("aria-pressed", control.on);
    changed(control.on);
  };
  control.element.setAttribute("aria-pressed", on);
  return control;
}
