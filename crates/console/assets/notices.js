// What happened, in words: at the foot of the page, or inside the dialog that it is about.

import { el, visible } from "./dom.js";

const QUIET_MS = 5000;

/** Says that something was done; it goes by itself. */
export function say(words) {
  const notice = add("status", "", el("p", {}, visible(words)));
  setTimeout(() => notice.remove(), QUIET_MS);
}

/** Says why something was not done; it stays until it is closed. */
export function complain(error) {
  add("alert", "bad", ...reasons(error));
}

/** A refusal as paragraphs, for where it happened. */
export function reasons(error) {
  const faults = error.faults ?? [];
  return [
    el("p", {}, visible(error.message)),
    // A single fault is the detail already.
    faults.length > 1 ? el("ul", {}, faults.map((fault) => el("li", {}, visible(fault)))) : null,
    error.trace ? el("p", { class: "trace" }, `trace ${error.trace}`) : null,
  ].filter((part) => part !== null);
}

function add(role, tone, ...content) {
  const notice = el("div", { role, class: `notice ${tone}` }, el("div", {}, content));
  notice.append(el("button", {
    type: "button", class: "quiet", "aria-label": "Close this message", onclick: () => notice.remove(),
  }, "✕"));
  document.getElementById("notices").append(notice);
  return notice;
}
