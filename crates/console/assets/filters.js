// The filters of a list. The address has them, without a second entry in the history for each change.

import { el } from "./dom.js";

/** A form of controls by the names of their parameters. `values` are those that are set; `changed` is called after a change. */
export function filterForm(address, controls, changed) {
  const all = Object.entries(controls);
  const values = () => Object.fromEntries(all.map(([name, { value }]) => [name, value.trim()]).filter(([, value]) => value));
  const hasText = all.some(([, { tagName }]) => tagName === "INPUT");
  const form = el("form", { class: "toolbar", role: "search" }, all.map(([, control]) => control),
    hasText ? el("button", { type: "submit" }, "Show") : null);
  const apply = (event) => {
    event.preventDefault();
    const query = new URLSearchParams(values());
    history.replaceState(null, "", `${address}${query.size ? `?${query}` : ""}`);
    changed();
  };
  form.addEventListener("submit", apply);
  for (const [, control] of all) if (control.tagName === "SELECT") control.addEventListener("change", apply);
  return { form, values };
}
