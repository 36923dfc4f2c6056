// Dialogs. The browser keeps the focus inside and gives it back; Escape closes.

import { el, fill } from "./dom.js";
import { reasons } from "./notices.js";

/** Opens a dialog with a heading, whatever is in it, and a place for refusals. */
export function open(heading, ...content) {
  const trouble = el("div", { role: "alert", class: "trouble" });
  const close = el("button", { type: "button", class: "quiet", "aria-label": "Close" }, "✕");
  const dialog = el("dialog", { "aria-label": heading },
    el("div", { class: "title" }, el("h2", {}, heading), close), ...content, trouble);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    // A dialog that is only hidden would leave its ids and its text in the page.
    dialog.remove();
    // What opened it may be gone, and the focus with it.
    if (document.activeElement === document.body) document.querySelector("main h1")?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return {
    dialog,
    close: () => dialog.close(),
    complain: (error) => fill(trouble, ...reasons(error)),
  };
}

/**
 * Asks before something that cannot be undone; `act` is what is then done, `keep` the words for not doing it. What `act` returns, if
 * it is a function, is called when the dialog has closed.
 */
export function confirm(heading, words, verb, act, keep = "Cancel") {
  const yes = el("button", { type: "button", class: "danger" }, verb);
  const no = el("button", { type: "button" }, keep);
  const box = open(heading, el("p", {}, words), el("div", { class: "actions" }, no, yes));
  no.addEventListener("click", box.close);
  no.focus();
  yes.addEventListener("click", async () => {
    yes.disabled = true;
    try {
      const next = await act();
      box.close();
      if (typeof next === "function") next();
    } catch (error) {
      yes.disabled = false;
      box.complain(error);
    }
  });
}

/** A dialog with a form; it closes once `act` succeeded. What `act` returns, if it is a function, is called then. */
export function formDialog(heading, fields, verb, act) {
  const save = el("button", { type: "submit", class: "main" }, verb);
  const form = el("form", {}, ...fields, el("div", { class: "actions" }, save));
  const box = open(heading, form);
  form.querySelector("input, select, textarea")?.focus();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      const next = await act();
      box.close();
      if (typeof next === "function") next();
    } catch (error) {
      save.disabled = false;
      box.complain(error);
    }
  });
}
