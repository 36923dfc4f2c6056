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
  // A dialog that is only hidden would leave its ids and its text in the page.
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return {
    dialog,
    close: () => dialog.close(),
    complain: (error) => fill(trouble, ...reasons(error)),
  };
}

/** Asks before something that cannot be undone; `act` is what is then done. */
export function confirm(heading, words, verb, act) {
  const yes = el("button", { type: "button", class: "danger" }, verb);
  const no = el("button", { type: "button" }, "Cancel");
  const box = open(heading, el("p", {}, words), el("div", { class: "actions" }, no, yes));
  no.addEventListener("click", box.close);
  no.focus();
  yes.addEventListener("click", async () => {
    yes.disabled = true;
    try {
      await act();
      box.close();
    } catch (error) {
      yes.disabled = false;
      box.complain(error);
    }
  });
}
