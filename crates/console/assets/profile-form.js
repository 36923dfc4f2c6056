// The form that creates a profile, or replaces what it allows.

import { orRefresh, post, put } from "./api.js";
import { formDialog } from "./dialog.js";
import { el, field, select, visible } from "./dom.js";
import { say } from "./notices.js";

/** What agents may do with the memory of the project. */
export const MEMORY = [["write", "Read and write"], ["read", "Read only"], ["none", "None"]];
const RIGHTS = { write: [true, true], read: [true, false], none: [false, false] };

/** The choice of `MEMORY` that a spec has. */
export function memoryOf({ memory }) {
  if (!memory) return "write";
  return memory.writable ? "write" : memory.readable ? "read" : "none";
}

/** Opens the form for a profile, or for a new one; `changed` is called after the change. */
export function editProfile(address, profile, changed) {
  const spec = profile?.spec ?? {};
  const name = el("input", {
    name: "name", required: true, maxlength: "64", pattern: "[a-z0-9]+(-[a-z0-9]+)*", title: "lowercase letters, digits and single dashes",
    autocomplete: "off", autocapitalize: "none", spellcheck: "false",
  });
  const description = Object.assign(el("textarea", { name: "description", rows: "2" }), { value: spec.description ?? "" });
  const tools = listField("Tools", "tools", spec.tools, "Patterns, one on each line, such as db.task.* or files.read. Without any, agents may call no tool.");
  const hosts = listField("Hosts", "hosts", spec.hosts, "One on each line, such as *.example.com or example.com:8443. Without any, there is no network.");
  const models = listField("Models", "models", spec.models, "Names, provider/model or hints such as fast, one on each line. Without any, agents may call no model.");
  const number = (attributes, value) => Object.assign(el("input", { type: "number", ...attributes }), { value: value ?? "" });
  const limits = spec.limits ?? {};
  const timeout = number({ name: "timeout", min: "1", max: "10800" }, limits.timeout_s);
  const memoryMib = number({ name: "memory_mib", min: "1" }, limits.memory_mib);
  const budget = number({ name: "budget", min: "0", step: "any", inputmode: "decimal" }, limits.budget_micros === undefined ? "" : limits.budget_micros / 1_000_000);
  const memory = select({ name: "memory" }, MEMORY, memoryOf(spec));

  const wanted = () => {
    const [readable, writable] = RIGHTS[memory.value];
    const optional = (input, factor = 1) => (input.value === "" ? undefined : Math.round(Number(input.value) * factor));
    return {
      description: description.value.trim(), tools: tools.value(), hosts: hosts.value(), models: models.value(),
      limits: { timeout_s: optional(timeout), memory_mib: optional(memoryMib), budget_micros: optional(budget, 1_000_000) },
      memory: { readable, writable },
    };
  };
  const heading = profile ? `Change the profile ${visible(profile.name)}` : "New profile";
  formDialog(heading, [
    profile ? null : field("Name", name), field("Description", description), tools.node, hosts.node, models.node,
    el("fieldset", {}, el("legend", {}, "Limits of each job"), el("div", { class: "row" },
      field("Seconds", timeout), field("Memory in MiB", memoryMib), field("Dollars a run", budget)),
      el("span", { class: "hint" }, "They only lower those of the task. Empty: no further limit.")),
    field("Memory of the project", memory),
  ], profile ? "Save" : "Create", async () => {
    // A profile that was changed meanwhile is not overwritten; the page then shows what it is now.
    const made = profile
      ? await orRefresh(changed, put(`${address}/profiles/${encodeURIComponent(profile.id)}`, { spec: wanted(), revision: profile.revision }))
      : await post(`${address}/profiles`, { name: name.value.trim(), spec: wanted() });
    say(profile ? `${made.name} is changed; its agents notice with their next call.` : `${made.name} is created.`);
    await changed();
  });
}

/** A list that narrows, or does not: an absent list narrows nothing, and an empty one allows nothing. */
function listField(label, name, present, help) {
  const lines = el("textarea", { name, rows: "3", autocomplete: "off", autocapitalize: "none", spellcheck: "false", "aria-label": label });
  lines.value = (present ?? []).join("\n");
  const only = el("input", { type: "checkbox", name: `only_${name}` });
  only.checked = Boolean(present);
  const narrowed = el("div", {}, lines, el("span", { class: "hint" }, help));
  const show = () => (narrowed.hidden = !only.checked);
  only.addEventListener("change", () => {
    show();
    if (only.checked) lines.focus();
  });
  show();
  return {
    node: el("fieldset", {}, el("legend", {}, label), el("label", { class: "check" }, only, "Allow only these"), narrowed),
    value: () => (only.checked ? lines.value.split("\n").map((line) => line.trim()).filter(Boolean) : undefined),
  };
}
