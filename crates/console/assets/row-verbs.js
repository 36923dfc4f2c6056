// The buttons of a thing in a list.

import { el } from "./dom.js";
import { complain } from "./notices.js";

/** A button that does nothing more while what it does is under way, and says why that failed. */
export function actButton(attributes, words, act) {
  const button = el("button", { type: "button", ...attributes }, words);
  button.addEventListener("click", async () => {
    // A button that is disabled would lose the focus.
    if (button.ariaDisabled === "true") return;
    button.ariaDisabled = "true";
    try {
      await act();
    } catch (error) {
      complain(error);
    }
    button.ariaDisabled = null;
    if (document.activeElement === document.body) document.querySelector("main h1")?.focus();
  });
  return button;
}

/** The buttons for what `name` says; `verbs` are pairs of a verb and what it does, or null. */
export function rowVerbs(name, verbs) {
  const button = ([verb, act]) => actButton({ class: "quiet", "aria-label": `${verb}: ${name}`, "data-verb": verb.toLowerCase().replaceAll(" ", "-") }, verb, act);
  return el("div", {}, verbs.filter(Boolean).map(button));
}
