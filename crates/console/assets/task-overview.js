// The first part of a task: what was asked, what it waits for, where it runs, and what came of it.

import { get } from "./api.js";
import { badge, el, facts, fill, moment, visible } from "./dom.js";
import { criterionLine } from "./task-fields.js";
import { plain, projectAddress, requestAddress, runAddress, statusBadge, taskAddress } from "./words.js";

export const title = "Overview";

const MODES = { prompt: "prose, planned by a model", script: "a script", commands: "commands", agent: "prose, for an agent", request: "a request" };
/** How many tasks that it depends on are read for their names. */
const MOST_NAMES = 20;

export function create({ view, project }) {
  const node = el("div");
  let shown = null;
  const update = (now) => {
    // The time at which a lease ends changes all the time, and is not shown.
    const content = JSON.stringify([now.task, now.run?.id, now.run?.state, now.run?.waits_for, now.run?.step]);
    if (content === shown) return;
    shown = content;
    fill(node, outcome(now), work(now.task), place(now.task, project));
  };
  update(view);
  return { node, update };
}

const section = (heading, ...content) => el("section", { class: "part" }, el("h2", {}, heading), ...content);

function outcome({ task, run }) {
  const step = run?.step && !task.closed ? `${run.step.index + 1} of ${run.step.of}, attempt ${run.step.attempt} of ${run.step.max_attempts}: ${run.step.action}` : null;
  return section("State", facts([
    ["Summary", task.summary ? el("p", { class: "prose" }, visible(task.summary)) : null],
    ["Waits because", task.blocked_reason ? el("p", { class: "prose" }, visible(task.blocked_reason)) : null],
    ["Step", step ? visible(step) : null],
    ["Run", run ? el("span", {}, el("a", { href: runAddress(run.id) }, el("code", {}, run.id)), " ", statusBadge(run.state)) : null],
    ["Created", moment(task.created_at)], ["Started", task.started_at ? moment(task.started_at) : null],
    ["Ended", task.ended_at ? moment(task.ended_at) : null],
  ]));
}

function work(task) {
  const lines = (items) => el("ul", { class: "plain mono" }, items.map((item) => el("li", {}, visible(item))));
  const criteria = [...task.acceptance_criteria.map(criterionLine),
    ...(task.step_criteria ?? []).map(({ step_index: index, criterion }) => `command ${index + 1}: ${criterionLine(criterion)}`)];
  return section("What was asked",
    task.commands.length ? el("ol", { class: "mono asked commands" }, task.commands.map((line) => el("li", {}, visible(line)))) : null,
    task.prompt ? el("p", { class: task.input_mode === "script" ? "prose mono asked" : "prose asked" }, visible(task.prompt)) : null,
    facts([
      ["Kind", MODES[task.input_mode] ?? plain(task.input_mode)],
      ["Acceptance criteria", criteria.length ? lines(criteria) : null],
      ["Depends on", task.depends_on.length ? dependencies(task) : null],
    ]));
}

/** The tasks that must complete first. Their names and states come after the page. */
function dependencies(task) {
  const list = el("ul", { class: "plain" }, task.depends_on.map((id) => el("li", { "data-dependency": id }, el("a", { href: taskAddress(id) }, id))));
  task.depends_on.slice(0, MOST_NAMES).forEach(async (id, index) => {
    const other = await get(`/v1/tasks/${encodeURIComponent(id)}`).catch(() => null);
    if (other) fill(list.children[index], el("a", { href: taskAddress(id) }, visible(other.task_name)), " ", statusBadge(other.status));
  });
  return list;
}

function place(task, project) {
  const { repository } = task;
  const sources = (task.builds_on ?? []).map(({ task: id, branch }) => el("li", {}, el("a", { href: taskAddress(id) }, visible(branch))));
  return section("Where it runs", facts([
    ["Project", project ? el("span", {}, el("a", { href: projectAddress(project.id) }, visible(project.display_name)), project.is_active ? null : [" ", badge("takes no tasks", "warn")]) : null],
    ["Profile", task.profile_id ? el("code", {}, task.profile_id) : "default"],
    ["Request", task.parent_task_id ? el("span", {}, el("a", { href: requestAddress(task.parent_task_id) }, "Its request"), task.work_unit_id ? `, unit ${visible(task.work_unit_id)}` : "") : null],
    ["Repository", repository ? el("code", {}, visible(repository.url)) : null],
    ["Base branch", repository?.base_branch ? visible(repository.base_branch) : null],
    ["Branch", repository?.branch ? visible(repository.branch) : null],
    ["Builds on", sources.length ? el("ul", { class: "plain" }, sources) : null],
    ["Agent", task.input_mode === "agent" ? visible(task.agent ?? "built-in") : null],
    ["Worker node", task.node ? visible(task.node) : null], ["Image", task.image ? visible(task.image) : null],
    ["Id", el("code", {}, task.id)],
  ]));
}
