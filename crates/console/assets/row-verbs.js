// The buttons of an item in a list.

import { el } from "./dom.js";
import { complain } from "./notices.js";

/** A button that ignores clicks while its action is under way, and reports why the action failed. */
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

/** The buttons of the item `name`; `verbs` are pairs of a verb and its action, or null. */
export function rowVerbs(name, verbs) {
  const button = ([verb, act]) => actButton({ class: "quiet", "aria-label": `${verb}: ${name}`, "data-verb": verb.toLowerCase().replaceAll(" ", "-") }, verb, act);
  return el("div", { class: "row-verbs" }, verbs.filter(Boolean).map(button));
}
