// One task: its state, its question, its verbs, and its parts, each with an address of its own.

import { get } from "./api.js";
import { drawVerbs, el, fill, KeyedList, tabs, visible } from "./dom.js";
import { followTask } from "./live.js";
import { complain } from "./notices.js";
import { questionCard, runVerbs } from "./run-verbs.js";
import * as changes from "./task-changes.js";
import * as files from "./task-files.js";
import * as logs from "./task-logs.js";
import * as overview from "./task-overview.js";
import * as result from "./task-result.js";
import * as runs from "./task-runs.js";
import { taskVerbs } from "./task-verbs.js";
import * as timeline from "./timeline.js";
import { projectAddress, statusBadge, taskAddress } from "./words.js";

/**
 * The parts. `create` is given the task with its newest run as `view`, the project, whether the person may change the task, and
 * `refresh` to call after a change. It returns a node, `update` for a newer view, and, if the part shows the history, `onEvent`.
 */
const PARTS = { overview, result, logs, files, changes, timeline, runs };

export async function render({ path: [id, name], me, query, signal }) {
  let view = await load(id);
  const project = await get(`/v1/projects/${encodeURIComponent(view.task.project_id)}`).catch(() => null);
  // Members of the group of a project read its tasks; only its owner creates them there.
  const mayChange = me.is_admin || project?.owner === me.handle;
  const { changes: ofRepository, ...others } = PARTS;
  const parts = view.task.repository ? PARTS : others;
  const chosen = Object.hasOwn(parts, name ?? "") ? name : "overview";
  document.title = `${visible(view.task.task_name)} · CyNode`;

  const heading = el("h1", { tabindex: "-1" });
  const state = el("p", { class: "state" });
  const verbs = el("div", { class: "verbs" });
  const asked = el("div", { class: "cards" });
  const stale = el("p", { class: "stale", role: "status" });
  const question = new KeyedList(asked, () => "question", (run) => questionCard(run, refreshLoudly));
  const draw = () => {
    const { task, run } = view;
    fill(heading, visible(task.task_name));
    fill(state, statusBadge(task.status), run && ["pausing", "paused"].includes(run.state) ? [" ", statusBadge(run.state)] : null,
      task.verification ? [" ", statusBadge(task.verification)] : null,
      project ? [el("span", { class: "soft" }, " in "), el("a", { href: projectAddress(project.id) }, visible(project.display_name))] : null);
    drawVerbs(verbs, [task.status, task.task_name, run?.id, run?.state], () => [
      ...(mayChange ? runVerbs(run, { refresh: refreshLoudly, isFork: false, isRetry: !task.parent_task_id }) : []),
      ...taskVerbs(view, { current: () => view, mayChange, refresh: refreshLoudly }),
    ]);
    question.draw(mayChange && run?.state === "needs_answer" ? [{ id: run.id, question: run.question }] : []);
  };
  async function refresh() {
    const newer = await load(id);
    if (signal.aborted) return;
    view = newer;
    draw();
    part.update(view);
    fill(stale);
  }
  const refreshLoudly = () => refresh().catch(complain);
  const part = await parts[chosen].create({ view, project, me, mayChange, query, signal, refresh: refreshLoudly });
  draw();
  followTask(view.task.id, { signal, refresh, onEvent: part.onEvent, stale });

  return el("section", { class: "request" },
    el("p", { class: "crumb" }, el("a", { href: "#/tasks" }, "Tasks")),
    el("div", { class: "head" }, heading, verbs), state, stale, asked,
    tabs("Parts of the task", parts, chosen, (key) => taskAddress(id, key === "overview" ? "" : key)), part.node);
}

/** A task, and the details of its newest run. */
async function load(id) {
  const task = await get(`/v1/tasks/${encodeURIComponent(id)}`);
  const run = task.run_id ? await get(`/v1/runs/${encodeURIComponent(task.run_id)}`) : null;
  return { task, run };
}
