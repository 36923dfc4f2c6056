// The fields for a new password.

import { el, field } from "./dom.js";

/** Two fields that must agree; `value` is the password, or fails with a reason. */
export function newPassword() {
  const input = (name) => el("input", { name, type: "password", autocomplete: "new-password", required: true, minlength: "12" });
  const [first, second] = [input("password"), input("password_again")];
  return {
    nodes: [field("New password", first, "At least 12 characters."), field("The same again", second)],
    value: () => {
      if (first.value !== second.value) throw new Error("The two passwords differ.");
      return first.value;
    },
  };
}
