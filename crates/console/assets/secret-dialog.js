// A secret that the server returns once. It is in the page while its dialog is open, and nowhere else.

import { open } from "./dialog.js";
import { el, field } from "./dom.js";
import { say } from "./notices.js";

/** Shows a secret with what to do with it; `use` is text or elements. */
export function showSecret(heading, secret, ...use) {
  const shown = el("input", { name: "secret", class: "mono", readonly: true, autocomplete: "off", spellcheck: "false" });
  shown.value = secret;
  const copy = el("button", { type: "button", class: "main" }, "Copy");
  const done = el("button", { type: "button" }, "Close");
  const box = open(heading, el("p", {}, "Store it now: it is shown only here and only once."),
    field("Secret", shown), ...use, el("div", { class: "actions" }, done, copy));
  shown.addEventListener("focus", () => shown.select());
  copy.addEventListener("click", async () => {
    shown.select();
    try {
      await navigator.clipboard.writeText(secret);
      say("Copied.");
    } catch {
      // Without a secure connection, the browser copies only what the person copies.
      say("It is selected: copy it with the keyboard.");
    }
  });
  done.addEventListener("click", box.close);
  // The secret does not stay in front of another page.
  window.addEventListener("hashchange", box.close, { once: true });
  box.dialog.addEventListener("close", () => {
    shown.value = "";
    window.removeEventListener("hashchange", box.close);
  });
  copy.focus();
}

/** A command to run, as text. */
export const command = (text) => el("pre", { tabindex: "0", "aria-label": "Command" }, text);
