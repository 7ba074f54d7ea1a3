// Shortcuts: one list for the handler and for the help that ? opens.

import { $, h } from "./dom.js";

const shortcuts = [];

/** Adds a shortcut: a key, what it does for the help, and the action. */
export function onKey(key, does, action) {
  shortcuts.push({ key, does, action });
}

export function startKeys() {
  const dialog = $("keys");
  const open = () => (dialog.open ? dialog.close() : dialog.showModal());
  onKey("?", "open or close this list", open);
  $("keys-button").addEventListener("click", open);
  const within = [
    ["← →", "in a chart or the graph: move the cursor; with Shift: ten times as far"],
    ["+ −", "in a chart: zoom"],
    ["0", "in a chart: show everything"],
    ["Tab", "go to the next control, chart or list"],
  ];
  $("keys-list").append(
    ...[...shortcuts.map(({ key, does }) => [key, does]), ...within].map(([key, does]) =>
      h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, does))),
  );
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, select");
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing) {
      return;
    }
    const found = shortcuts.find(({ key }) => key === event.key);
    if (found && (!dialog.open || found.key === "?")) {
      event.preventDefault();
      found.action();
    }
  });
}
