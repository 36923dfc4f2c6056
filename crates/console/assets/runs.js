// Runs: the list of all of them, and the table for those of one task.

import { get } from "./api.js";
import { el, fill, KeyedList, nothing, row, select, table, visible } from "./dom.js";
import { filterForm } from "./filters.js";
import { repeat } from "./live.js";
import { complain } from "./notices.js";
import { paged } from "./pager.js";
import { projectChoice } from "./project-choice.js";
import { age, plain, RUN_STATES, runAddress, statusBadge, took } from "./words.js";

export const title = "Runs";

const COLUMNS = ["Run", "State", "Workflow node", "Waits for", "Created", "Took"];
/** How many rows a page has, and how often it reads again. */
const [PAGE, EVERY_MS] = [50, 5000];

export async function create({ me, query, signal }) {
  const task = el("input", { type: "search", placeholder: "Name or id of a task", "aria-label": "Task", maxlength: "200", spellcheck: "false", autocapitalize: "none" });
  task.value = query.get("task") ?? "";
  const state = select({ "aria-label": "State" }, [["", "All states"], ...RUN_STATES], query.get("state") ?? "");
  const project = await projectChoice({ me, none: "All projects", chosen: query.get("project") ?? "" });
  const empty = nothing("");
  const stale = el("p", { class: "stale", role: "status" });
  const shown = runTable("Runs, newest first");
  const filters = filterForm("#/tasks/runs", { task, state, project: project.node }, () => pages.restart());
  const load = async (cursor) => {
    const wanted = new URLSearchParams({ limit: PAGE, ...filters.values() });
    if (cursor) wanted.set("cursor", cursor);
    try {
      return await get(`/v1/runs?${wanted}`);
    } catch (error) {
      // The task or the project of the filter does not exist, or the person may not see it.
      if (error.status !== 404) throw error;
      return { items: [] };
    }
  };
  const draw = (items) => {
    fill(stale);
    shown.draw(items);
    fill(empty, items.length ? null : Object.keys(filters.values()).length ? "No run matches." : "Nothing has run yet.");
  };
  const pages = paged({ load, draw, signal });
  await pages.read();
  const again = () => pages.read().catch((error) => fill(stale, visible(error.message)));
  repeat(again, EVERY_MS, signal).catch(complain);
  return { action: null, content: [filters.form, stale, shown.node, empty, pages.node] };
}

/** A table of runs; `draw` shows others in it. */
export function runTable(caption) {
  const { node, body } = table(caption, COLUMNS);
  const rows = new KeyedList(body, (run) => run.id, line);
  const draw = (items) => {
    // A lease is renewed all the time, and is not shown.
    rows.draw(items.map(({ lease, ...run }) => ({ ...run, age: age(run.created_at) })));
    node.hidden = items.length === 0;
  };
  return { node, draw };
}

function line(run) {
  const place = run.place?.node ?? run.place?.last_node;
  const ms = run.ended_at ? new Date(run.ended_at) - new Date(run.created_at) : null;
  const node = row(COLUMNS, [
    el("div", {}, el("a", { href: runAddress(run.id) }, visible(run.task_name)), el("span", { class: "about mono" }, run.id)),
    statusBadge(run.state), place ? plain(visible(place)) : "",
    run.waits_for ? el("div", {}, el("span", { class: "about" }, visible(run.waits_for))) : "",
    el("span", { class: "nowrap", title: run.created_at }, run.age), ms === null ? "" : el("span", { class: "nowrap" }, took(Math.max(0, ms))),
  ]);
  node.dataset.run = run.id;
  return node;
}
