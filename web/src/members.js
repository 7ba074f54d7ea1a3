// The view of a run whose members come and go: its number, its members, and why it is another one than before.

import { $, h, setText } from "./dom.js";
import { count, plural } from "./format.js";

const WHY = "the founders"; // of view 0, which has no other reason

/** Name of a member: its id, and its machine if that says more. */
export const memberName = (id, name) => (name && name !== `peer ${id}` ? `${id} ${name}` : String(id));

/** Ids of those in the graph: the members, or all workers where they stay. */
export function present(run) {
  const n = Math.max(run.about?.workers ?? 0, run.peers.size);
  return run.members?.now.members ?? Array.from({ length: n }, (_, rank) => rank);
}

/** Draws the panel, which a run without members does not have. pick(id) is called when a member is pressed. */
export function drawMembers({ members }, pick) {
  $("members-panel").hidden = !members;
  if (!members) {
    return;
  }
  const { now, joined, left, past } = members;
  const named = (id) => memberName(id, members.names?.[id]);
  setText($("members-note"), `view ${count(now.view)} · ${plural(now.members.length, "member")} · from exchange ${count(now.first)} on`);
  setText($("members-why"), now.why || WHY);
  const fresh = new Set(joined);
  $("members-list").replaceChildren(
    ...now.members.map((id) => h("li", { class: fresh.has(id) ? "new" : null },
      h("button", { type: "button", "aria-label": `Member ${named(id)}${fresh.has(id) ? ", new" : ""}: draw its curve`, onclick: () => pick(id) }, `${fresh.has(id) ? "+ " : ""}${named(id)}`))),
    ...left.map((id) => h("li", { class: "left" }, `− ${named(id)}`)),
  );
  $("members-past").replaceChildren(...[...past].reverse().map((view) => h("tr", {}, h("th", { scope: "row" }, count(view.view)),
    h("td", {}, count(view.first)), h("td", {}, count(view.members)), h("td", { class: "words" }, view.why || WHY))));
}
