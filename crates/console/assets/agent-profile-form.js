// The form that defines an agent profile, or replaces it with a new revision.

import { orRefresh, post, put } from "./api.js";
import { formDialog } from "./dialog.js";
import { el, field, select, visible } from "./dom.js";
import { say } from "./notices.js";
import { plain } from "./words.js";

export const PROGRAMS = [["acp", "Speaks the Agent Client Protocol"], ["command", "Takes a prompt and exits"]];
const REQUESTS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"];
/** The requests that are allowed at first: the sandbox confines them, or the gateway decides them. */
const ALLOWED = ["read", "edit", "delete", "move", "search", "execute", "think", "other"];

/** The route of an agent profile. */
export const agentProfileAddress = (name) => `/v1/agent-profiles/${encodeURIComponent(name)}`;

/** Opens the form for a profile, or for a new one; `refresh` is called after the change. */
export function editAgentProfile(each, refresh) {
  const input = (attributes, value = "") => Object.assign(el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes }), { value });
  const lines = (attributes, values) => Object.assign(el("textarea", { rows: "3", spellcheck: "false", ...attributes }), { value: (values ?? []).join("\n") });
  const program = each?.program ?? {};
  const name = input({ name: "name", required: true, pattern: "[a-z][a-z0-9]*(-[a-z0-9]+)*", title: "lowercase letters, digits and single dashes, beginning with a letter" });
  const description = input({ name: "description" }, each?.description);
  const kind = select({ name: "kind" }, PROGRAMS, program.kind ?? "acp");
  const command = lines({ name: "command", required: true }, program.command);
  const env = lines({ name: "env" }, Object.entries(program.env ?? {}).map(([key, value]) => `${key}=${value}`));
  const hosts = lines({ name: "hosts" }, each?.hosts);
  const [mode, model] = [input({ name: "mode" }, program.mode), input({ name: "model" }, program.model)];
  const isAllowed = (request) => (program.permissions ? (program.permissions.kinds?.[request] ?? program.permissions.default) === "allow" : ALLOWED.includes(request));
  const requests = REQUESTS.map((request) => {
    const box = el("input", { type: "checkbox", name: "permissions", value: request });
    box.checked = isAllowed(request);
    return { box, node: el("label", { class: "check" }, box, plain(request)) };
  });
  const session = el("div", { class: "fields" },
    el("fieldset", {}, el("legend", {}, "Requests that are allowed"), el("div", { class: "row" }, requests.map(({ node }) => node)), el("span", { class: "hint" }, "The sandbox confines it, whatever is allowed here.")),
    field("Mode (optional)", mode, "Its id in the program."), field("Model (optional)", model, "Its id in the program."));
  const show = () => (session.hidden = kind.value !== "acp");
  kind.addEventListener("change", show);
  show();
  const split = (control) => control.value.split("\n").map((value) => value.trim()).filter(Boolean);
  const wanted = () => {
    const base = { kind: kind.value, command: split(command), env: variables(split(env)) };
    const kinds = Object.fromEntries(requests.map(({ box }) => [box.value, box.checked ? "allow" : "reject"]));
    const permissions = { default: program.permissions?.default ?? "reject", kinds };
    return kind.value === "acp" ? { ...base, permissions, mode: mode.value.trim() || undefined, model: model.value.trim() || undefined } : base;
  };
  formDialog(each ? `Change the agent profile ${visible(each.name)}` : "New agent profile", [
    each ? null : field("Name", name), field("Description", description), field("Program", kind),
    field("Command", command, "The program and its arguments, one on each line. {prompt}, {prompt_file} and {workspace} are replaced in a program that takes a prompt."),
    field("Variables", env, "NAME=VALUE, one on each line. Secrets are rejected."), field("Hosts it may connect to", hosts, "One on each line."), session,
  ], each ? "Save" : "Create", async () => {
    const body = { description: description.value.trim(), program: wanted(), hosts: split(hosts) };
    const made = each
      ? await orRefresh(refresh, put(agentProfileAddress(each.name), { ...body, revision: each.revision }))
      : await post("/v1/agent-profiles", { name: name.value.trim(), ...body });
    say(`${made.name} is ${each ? "changed" : "defined"}; it needs a canary run.`);
    await refresh();
  });
}

/** `NAME=VALUE` lines as an object. */
function variables(entries) {
  return Object.fromEntries(entries.map((entry) => {
    const at = entry.indexOf("=");
    if (at < 1) throw new Error("Each variable is written NAME=VALUE.");
    return [entry.slice(0, at).trim(), entry.slice(at + 1)];
  }));
}
