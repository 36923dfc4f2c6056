// Tasks, runs and schedules: their lists, and the pages below them.

import { el, tabs } from "./dom.js";
import * as run from "./run.js";
import * as runs from "./runs.js";
import * as schedule from "./schedule.js";
import * as schedules from "./schedules.js";
import * as taskForm from "./task-form.js";
import * as taskList from "./task-list.js";
import * as task from "./task.js";

export const title = "Tasks";

/** The lists, each with the page of one of its items. `create` returns the content, and what stands beside the heading. */
const PARTS = { tasks: taskList, runs, schedules };
const PAGES = { runs: run, schedules: schedule };

export function render(context) {
  const [first, ...rest] = context.path;
  if (first === "new") return taskForm.render(context);
  if (Object.hasOwn(PAGES, first ?? "")) return rest.length ? PAGES[first].render({ ...context, path: rest }) : list(first, context);
  return first ? task.render(context) : list("tasks", context);
}

async function list(chosen, context) {
  const { action, content } = await PARTS[chosen].create(context);
  document.title = `${PARTS[chosen].title} · CyNode`;
  return el("section", {},
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, PARTS[chosen].title), action),
    tabs("Lists", PARTS, chosen, (key) => (key === "tasks" ? "#/tasks" : `#/tasks/${key}`)),
    el("div", { class: "part" }, content));
}
