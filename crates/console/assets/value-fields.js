// The values of settings and preferences: how they are shown, and the fields that set them.

import { el, field, visible } from "./dom.js";

/** How much of a value a row shows. */
const MOST_CHARACTERS = 200;

/** The beginning of a value as JSON. */
export function valueCell(value) {
  const text = JSON.stringify(value);
  return el("div", {}, el("code", { class: "target" }, visible(text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text)));
}

/**
 * The fields for a key, its value and a reason. A value is JSON, other text is text; a text that would be read as JSON is shown in
 * quotes, so that it stays one.
 */
export function valueFields(each) {
  const key = el("input", { name: "key", required: true, maxlength: "200", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const isPlain = typeof each?.value === "string" && typeof read(each.value) === "string";
  const value = Object.assign(el("textarea", { name: "value", rows: "4", spellcheck: "false" }), { value: !each ? "" : isPlain ? each.value : JSON.stringify(each.value, null, 2) });
  const reason = el("input", { name: "reason", maxlength: "1000", autocomplete: "off" });
  return {
    nodes: [each ? null : field("Key", key), field("Value", value, "JSON, such as 90, true or [\"a\"]; other text is taken as text."), field("Why (optional)", reason, "For the history.")],
    key: () => each?.key ?? key.value.trim(),
    // The server rejects the change if another one came first.
    body: () => ({ value: read(value.value), expected_version: each?.version ?? 0, reason: reason.value.trim() || undefined }),
  };
}

/** JSON as its value, and other text as text. */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
