// The tokens that agents present to the MCP gateway.

import { get, post, remove } from "./api.js";
import { confirm, formDialog } from "./dialog.js";
import { badge, el, field, fill, moment, nothing, row, select, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { paged } from "./pager.js";
import { rowVerbs } from "./row-verbs.js";
import { showSecret } from "./secret-dialog.js";
import { namesById, subjectId } from "./subject-id.js";

const COLUMNS = ["Token", "Agent", "Bound to", "State", "Issued", ""];
const TYPES = [["pm", "Project manager (pm)"], ["pa", "Analyst (pa)"], ["sandbox", "Agent in a sandbox (sandbox)"]];
const LIFETIMES = [["3600", "An hour"], ["86400", "A day"], ["604800", "A week"], ["2592000", "30 days"]];
const PAGE = 20;

export async function create({ me, signal }) {
  const names = await namesById(me);
  const { node, body } = table("Agent tokens, newest first", COLUMNS);
  const empty = nothing("There are no agent tokens.");
  const draw = (items) => {
    fill(body, ...items.map((each) => line(each, me, names, pages.read)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const load = (cursor) => get(`/v1/agent-tokens?${new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
  const pages = paged({ load, draw, signal });
  await pages.read();
  const add = el("button", { type: "button", class: "main", "data-verb": "new-agent-token", onclick: () => issue(me, pages.read) }, "New agent token");
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Agent tokens"), add),
    el("p", { class: "soft" }, "With an agent token, a program calls tools as an agent of that type, within what it is bound to."), node, empty, pages.node);
}

function line(each, me, names, refresh) {
  const name = visible(each.name);
  const isOver = new Date(each.expires_at) <= Date.now();
  const state = each.revoked_at ? badge("revoked") : el("div", {}, badge(isOver ? "expired" : "valid until", isOver ? "" : "good"), " ", moment(each.expires_at));
  const drop = () => confirm(`Revoke ${name}?`, "Its agent is refused from now on.", "Revoke", async () => {
    await remove(`/v1/agent-tokens/${encodeURIComponent(each.id)}`);
    say(`${each.name} is revoked.`);
    await refresh();
  });
  const user = each.user_id === me.id ? null : el("span", { class: "about", title: each.user_id }, `for user ${visible(names.get(each.user_id) ?? each.user_id.slice(-12))}`);
  const node = row(COLUMNS, [
    el("div", {}, name, user), each.agent_type, bound(each), state, moment(each.created_at),
    each.revoked_at || isOver ? "" : rowVerbs(name, [["Revoke", drop]]),
  ]);
  node.dataset.agentToken = each.name;
  return node;
}

/** The resources that a token is bound to. */
function bound(each) {
  const kinds = ["project", "task", "run", "job", "session"].filter((kind) => each[`${kind}_id`]);
  if (!kinds.length) return "";
  return el("div", {}, kinds.map((kind) => el("span", { class: "about", title: each[`${kind}_id`] }, `${kind} ${each[`${kind}_id`].slice(-12)}`)));
}

function issue(me, refresh) {
  const input = (attributes) => el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
  const [name, user, project, task, job] = [{ name: "name", required: true, maxlength: "100" }, { name: "user" }, { name: "project" }, { name: "task" }, { name: "job" }].map(input);
  const type = select({ name: "agent_type" }, TYPES, "pm");
  const lifetime = select({ name: "lifetime" }, LIFETIMES, "3600");
  const jobField = field("Only for this job of the task, by id", job);
  const show = () => {
    const isSandbox = type.value === "sandbox";
    [jobField.hidden, job.required, task.required] = [!isSandbox, isSandbox, isSandbox];
  };
  type.addEventListener("change", show);
  show();
  formDialog("New agent token", [
    field("What it is for", name), field("Type of the agent", type), field("Valid for", lifetime), me.is_admin ? field("User (you if empty)", user) : null,
    field("Only for this project (optional)", project, "By name or id."), field("Only for this task (optional)", task, "By name or id."), jobField,
  ], "Create", async () => {
    const id = (kind, control) => (control.value.trim() ? subjectId(kind, control.value.trim()) : undefined);
    const made = await post("/v1/agent-tokens", {
      name: name.value.trim(), agent_type: type.value, expires_in_seconds: Number(lifetime.value), user_id: await id("user", user),
      project_id: await id("project", project), task_id: await id("task", task), job_id: (!jobField.hidden && job.value.trim()) || undefined,
    });
    await refresh();
    return () => showSecret("Agent token", made.secret, el("p", {}, "The agent sends it as a bearer token to ", el("code", {}, `${location.origin}/mcp`), "."));
  });
}
