// Agent profiles: programs of other vendors that work as agents in sandboxes, and the canary runs that admit them to worker nodes.

import { get, orRefresh, post, put, remove } from "./api.js";
import { allChanges, showChanges } from "./change-log.js";
import { confirm, formDialog, open } from "./dialog.js";
import { badge, el, facts, field, fill, moment, nothing, row, select, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { actButton, rowVerbs } from "./row-verbs.js";
import { plain, wordsFor } from "./words.js";

const COLUMNS = ["Agent profile", "Program", "Hosts", "Worker nodes", "Last change", ""];
const CHECK_COLUMNS = ["Worker node", "Check", "Outcome", "What was seen"];
const PROGRAMS = [["acp", "Speaks the Agent Client Protocol"], ["command", "Takes a prompt and exits"]];
const CANARY = { passed: ["passed", "good"], failed: ["failed", "bad"], not_run: ["not tried", ""], not_supported: ["cannot run it", "warn"] };
const REQUESTS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"];
/** The requests that are allowed at first: the sandbox confines them, or the gateway decides them. */
const ALLOWED = ["read", "edit", "delete", "move", "search", "execute", "think", "other"];

export async function create({ me, signal }) {
  const { node, body } = table("Agent profiles", COLUMNS);
  const empty = nothing("There are no agent profiles: the built-in agent does the work.");
  const read = async () => {
    const found = await get("/v1/agent-profiles");
    if (signal.aborted) return;
    fill(body, ...found.map((each) => line(each, me, read)));
    [node.hidden, empty.hidden] = [found.length === 0, found.length > 0];
  };
  await read();
  const log = actButton({ "data-verb": "history" }, "History", () => showChanges("History of agent profiles", allChanges("agent_profile")));
  const add = el("button", { type: "button", class: "main", "data-verb": "new-agent-profile", onclick: () => edit(null, read) }, "New agent profile");
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Agent profiles"), me.is_admin ? el("div", { class: "verbs" }, log, add) : null),
    el("p", { class: "soft" }, "Programs of other vendors that work as agents. A worker node runs one after it has passed a canary run of its present revision."), node, empty);
}

const address = (name) => `/v1/agent-profiles/${encodeURIComponent(name)}`;

function line(each, me, refresh) {
  const name = visible(each.name);
  const canary = async () => {
    const { tasks } = await post(`${address(each.name)}/canary`, {});
    say(`${tasks.length} canary ${tasks.length === 1 ? "run" : "runs"} started.`);
    await refresh();
  };
  const drop = () => confirm(`Delete the agent profile ${name}?`, "Steps that wait for it fail.", "Delete", async () => {
    await remove(address(each.name));
    say(`${each.name} is deleted.`);
    await refresh();
  }, "Keep it");
  const node = row(COLUMNS, [
    el("div", {}, actButton({ class: "link mono" }, name, () => details(each.name)), el("span", { class: "about" }, visible(each.description))),
    el("div", {}, el("code", { class: "target" }, visible(each.program.command.join(" "))), el("span", { class: "about" }, wordsFor(PROGRAMS, each.program.kind))),
    each.hosts.length ? el("div", {}, el("code", { class: "target" }, visible(each.hosts.join(", ")))) : "none",
    el("div", {}, each.nodes.map(({ node: worker, status }) => el("p", {}, visible(worker), " ", badge(...CANARY[status] ?? [status])))), moment(each.updated_at),
    me.is_admin ? rowVerbs(name, [["Canary run", canary], ["Edit", () => edit(each, refresh)], ["Delete", drop]]) : "",
  ]);
  node.dataset.agentProfile = each.name;
  return node;
}

/** Opens the details of a profile, with all checks of its canary runs. */
async function details(name) {
  const each = await get(address(name));
  const { node, body } = table("Checks of the canary runs", CHECK_COLUMNS);
  const checks = each.nodes.flatMap((worker) => (worker.checks ?? []).map((check) => row(CHECK_COLUMNS, [
    el("div", {}, visible(worker.node)), plain(check.kind), badge(plain(check.outcome), CANARY[check.outcome]?.[1] ?? ""), check.detail ? el("div", {}, visible(check.detail)) : "",
  ])));
  fill(body, ...checks);
  const { program } = each;
  const allowed = Object.entries(program.permissions?.kinds ?? {}).filter(([, answer]) => answer === "allow").map(([kind]) => plain(kind));
  open(visible(each.name), each.description ? el("p", { class: "prose" }, visible(each.description)) : null, facts([
    ["Program", el("code", {}, visible(program.command.join(" ")))], ["Kind", wordsFor(PROGRAMS, program.kind)],
    ["Variables", visible(Object.entries(program.env ?? {}).map(([key, value]) => `${key}=${value}`).join("\n"))],
    ["Allowed requests", program.kind === "acp" ? allowed.join(", ") || "none" : null], ["Mode", visible(program.mode ?? "")], ["Model", visible(program.model ?? "")],
    ["Hosts", visible(each.hosts.join(", ")) || "none"], ["Revision", String(each.revision)], ["Last change", moment(each.updated_at)],
  ]), checks.length ? node : nothing("No canary run of this revision has reported."));
}

function edit(each, refresh) {
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
      ? await orRefresh(refresh, put(address(each.name), { ...body, revision: each.revision }))
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
