// The list of tasks.

import { get } from "./api.js";
import { el, fill, KeyedList, nothing, row, select, table, visible } from "./dom.js";
import { filterForm } from "./filters.js";
import { repeat } from "./live.js";
import { complain } from "./notices.js";
import { paged } from "./pager.js";
import { projectChoice } from "./project-choice.js";
import { age, requestAddress, statusBadge, TASK_STATES, taskAddress, took } from "./words.js";

export const title = "Tasks";

const COLUMNS = ["Task", "Status", "Project", "Created", "Took", "Summary"];
/** How many rows a page has, and how often it reads again. */
const [PAGE, EVERY_MS] = [50, 5000];

export async function create({ me, query, signal }) {
  const status = select({ "aria-label": "Status" }, [["", "All states"], ...TASK_STATES], query.get("status") ?? "");
  const project = await projectChoice({ me, none: "All projects", chosen: query.get("project") ?? "" });
  const { node, body } = table("Tasks, newest first", COLUMNS);
  const empty = nothing("");
  const stale = el("p", { class: "stale", role: "status" });
  const filters = filterForm("#/tasks", { status, project: project.node }, () => pages.restart());
  const load = (cursor) => {
    const wanted = new URLSearchParams({ limit: PAGE, ...filters.values() });
    if (cursor) wanted.set("cursor", cursor);
    return get(`/v1/tasks?${wanted}`);
  };
  const rows = new KeyedList(body, (task) => task.id, (task) => line(task, project.nameOf));
  const draw = (items) => {
    fill(stale);
    rows.draw(items.map((task) => ({ ...task, age: age(task.created_at) })));
    node.hidden = items.length === 0;
    fill(empty, items.length ? null : Object.keys(filters.values()).length ? "No task matches." : "There are no tasks yet.");
  };
  const pages = paged({ load, draw, signal });
  await pages.read();
  const again = () => pages.read().catch((error) => fill(stale, visible(error.message)));
  repeat(again, EVERY_MS, signal).catch(complain);
  return {
    action: el("a", { class: "button main", href: "#/tasks/new" }, "New task"),
    content: [filters.form, stale, node, empty, pages.node],
  };
}

function line(task, nameOf) {
  const isRequest = task.input_mode === "request";
  const work = task.commands[0] ?? task.prompt.split("\n").find((text) => text.trim()) ?? "";
  const ms = task.ended_at ? new Date(task.ended_at) - new Date(task.created_at) : null;
  const node = row(COLUMNS, [
    el("div", {}, el("a", { href: isRequest ? requestAddress(task.id) : taskAddress(task.id) }, visible(task.task_name)),
      isRequest ? el("span", { class: "soft" }, " request") : null, el("span", { class: "about" }, visible(work))),
    el("span", {}, statusBadge(task.status), task.verification === "unverified" ? [" ", statusBadge("unverified")] : null),
    nameOf(task.project_id), el("span", { class: "nowrap", title: task.created_at }, task.age),
    ms === null ? "" : el("span", { class: "nowrap" }, took(Math.max(0, ms))),
    task.summary || task.blocked_reason ? el("div", {}, el("span", { class: "about" }, visible(task.summary ?? task.blocked_reason))) : "",
  ]);
  node.dataset.task = task.task_name;
  return node;
}
