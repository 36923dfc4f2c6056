// The sign-in page.

import { signIn, signInWithToken } from "./api.js";
import { el, field, fill } from "./dom.js";
import { reasons } from "./notices.js";

/** The form; `done` is called after sign-in, `words` say why it is required. */
export function render(words, done) {
  const trouble = el("div", { role: "alert", class: "trouble" }, words ? el("p", {}, words) : null);
  const handle = el("input", {
    name: "handle", autocomplete: "username", autocapitalize: "none", spellcheck: "false", required: true,
  });
  const password = el("input", {
    name: "password", type: "password", autocomplete: "current-password", required: true,
  });
  const token = el("input", { name: "token", type: "password", autocomplete: "off", required: true });

  const byPassword = form("Sign in", trouble, [field("Handle", handle), field("Password", password)],
    () => signIn(handle.value.trim(), password.value), done);
  const byToken = form("Use this token", trouble, [field("API token", token,
    "Created with “cynork token create”, or admin.token in the data directory.")],
    () => signInWithToken(token.value.trim()), done);

  const page = el("section", { class: "signin" },
    el("h1", { tabindex: "-1" }, "Sign in to CyNode"), trouble, byPassword,
    el("details", {}, el("summary", {}, "Sign in with an API token"), byToken),
    el("p", { class: "hint" }, "The session is stored for this tab only and ends when you close it."));
  queueMicrotask(() => handle.focus());
  return page;
}

function form(verb, trouble, fields, act, done) {
  const button = el("button", { type: "submit", class: "main" }, verb);
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    fill(trouble);
    try {
      await act();
      done();
    } catch (error) {
      button.disabled = false;
      fill(trouble, ...reasons(error));
    }
  };
  return el("form", { onsubmit: submit }, ...fields, button);
}
