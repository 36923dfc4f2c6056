// Agent profiles: programs of other vendors that work as agents in sandboxes, and the canary runs that admit them to worker nodes.

import { agentProfileAddress, editAgentProfile, PROGRAMS } from "./agent-profile-form.js";
import { get, post, remove } from "./api.js";
import { allChanges, showChanges } from "./change-log.js";
import { confirm, open } from "./dialog.js";
import { badge, el, facts, fill, moment, nothing, row, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { actButton, rowVerbs } from "./row-verbs.js";
import { plain, wordsFor } from "./words.js";

const COLUMNS = ["Agent profile", "Program", "Hosts", "Worker nodes", "Last change", ""];
const CHECK_COLUMNS = ["Worker node", "Check", "Outcome", "What was seen"];
const CANARY = { passed: ["passed", "good"], failed: ["failed", "bad"], not_run: ["not tried", ""], not_supported: ["cannot run it", "warn"] };

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
  const add = el("button", { type: "button", class: "main", "data-verb": "new-agent-profile", onclick: () => editAgentProfile(null, read) }, "New agent profile");
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Agent profiles"), me.is_admin ? el("div", { class: "verbs" }, log, add) : null),
    el("p", { class: "soft" }, "Programs of other vendors that work as agents. A worker node runs one after it has passed a canary run of its present revision."), node, empty);
}

function line(each, me, refresh) {
  const name = visible(each.name);
  const canary = async () => {
    const { tasks } = await post(`${agentProfileAddress(each.name)}/canary`, {});
    say(`${tasks.length} canary ${tasks.length === 1 ? "run" : "runs"} started.`);
    await refresh();
  };
  const drop = () => confirm(`Delete the agent profile ${name}?`, "Steps that wait for it fail.", "Delete", async () => {
    await remove(agentProfileAddress(each.name));
    say(`${each.name} is deleted.`);
    await refresh();
  }, "Keep it");
  const node = row(COLUMNS, [
    el("div", {}, actButton({ class: "link mono" }, name, () => details(each.name)), el("span", { class: "about" }, visible(each.description))),
    el("div", {}, el("code", { class: "target" }, visible(each.program.command.join(" "))), el("span", { class: "about" }, wordsFor(PROGRAMS, each.program.kind))),
    each.hosts.length ? el("div", {}, el("code", { class: "target" }, visible(each.hosts.join(", ")))) : "none",
    el("div", {}, each.nodes.map(({ node: worker, status }) => el("p", {}, visible(worker), " ", badge(...CANARY[status] ?? [status])))), moment(each.updated_at),
    me.is_admin ? rowVerbs(name, [["Canary run", canary], ["Edit", () => editAgentProfile(each, refresh)], ["Delete", drop]]) : "",
  ]);
  node.dataset.agentProfile = each.name;
  return node;
}

/** Opens the details of a profile, with all checks of its canary runs. */
async function details(name) {
  const each = await get(agentProfileAddress(name));
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
