// What a person can do with a task.

import { orRefresh, patch, post } from "./api.js";
import { confirm, formDialog } from "./dialog.js";
import { el, field, visible } from "./dom.js";
import { say } from "./notices.js";
import { areLines, criterionLine, linesOf, parseCriterion } from "./task-fields.js";
import { isOpen, requestAddress, taskAddress, traceAddress } from "./words.js";

/** The buttons for what a person can do now; `current` returns the newest view of the task. */
export function taskVerbs({ task, run }, { current, mayChange, refresh }) {
  const button = (words, verb, tone, act) => el("button", { type: "button", class: tone, "data-verb": verb, onclick: act }, words);
  const link = (words, href) => el("a", { class: "button", href }, words);
  const isRequest = task.input_mode === "request";
  const own = mayChange && !isRequest ? [
    isOpen(task.status) ? button("Change", "change", "", () => change(current().task, refresh)) : null,
    task.status === "queued" ? button("Add a dependency", "depend", "", () => addDependency(task, refresh)) : null,
    task.repository ? button("Push its changes", "push", "", () => push(task)) : null,
  ] : [];
  return [
    ...own,
    isRequest ? link("Open the request", requestAddress(task.id)) : link("Create one like it", `#/tasks/new?from=${encodeURIComponent(task.id)}`),
    run ? link("Trace", traceAddress(run.trace_id)) : null,
    mayChange && isOpen(task.status) ? button("Cancel the task", "cancel", "danger", () => cancel(task, refresh)) : null,
  ];
}

const path = (task) => `/v1/tasks/${encodeURIComponent(task.id)}`;

function cancel(task, refresh) {
  const words = "Its jobs are stopped, and open tasks that depend on it are canceled with it. Output and files stay readable.";
  confirm(`Cancel ${visible(task.task_name)}?`, words, "Cancel the task", async () => {
    const { cascaded } = await post(`${path(task)}/cancel`);
    const others = cascaded.length ? `, and ${cascaded.length} that ${cascaded.length === 1 ? "depends" : "depend"} on it` : "";
    say(`${task.task_name} is canceled${others}.`);
    await refresh();
  }, "Keep it");
}

function change(task, refresh) {
  const name = Object.assign(el("input", { name: "task_name", required: true, maxlength: "200", autocomplete: "off" }), { value: task.task_name });
  const criteria = el("textarea", { name: "criteria", rows: "4", spellcheck: "false" });
  criteria.value = task.acceptance_criteria.map(criterionLine).join("\n");
  const before = [name.value, criteria.value];
  const isText = areLines(task.acceptance_criteria);
  formDialog(`Change ${visible(task.task_name)}`, [field("Name", name),
    isText ? field("Acceptance criteria", criteria, "One on each line: exit:0, output:/regex/, file:path, check:command, or prose.") : null], "Save", async () => {
    const body = { expected_updated_at: task.updated_at };
    if (name.value !== before[0]) body.task_name = name.value.trim();
    if (criteria.value !== before[1]) body.acceptance_criteria = linesOf(criteria).map(parseCriterion);
    const made = await orRefresh(refresh, patch(path(task), body));
    say(`${made.task_name} is changed.`);
    await refresh();
  });
}

function addDependency(task, refresh) {
  const other = el("input", { name: "depends_on", required: true, maxlength: "200", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  formDialog("Add a dependency", [field("Task", other, "The task that must complete first, by name or id.")], "Add", async () => {
    await post(`${path(task)}/dependencies`, { depends_on: other.value.trim() });
    say(`${task.task_name} now waits for ${other.value.trim()}.`);
    await refresh();
  });
}

function push(task) {
  const input = (attributes) => el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
  const branch = input({ name: "branch" });
  const replaces = input({ name: "replaces" });
  const approve = el("input", { type: "checkbox", name: "approve" });
  formDialog(`Push the changes of ${visible(task.task_name)}`, [
    el("p", {}, "A task of its own pushes the newest changes. Findings that need a review make it wait for an approval."),
    field("Branch", branch, task.repository.branch ? `${visible(task.repository.branch)} if empty. Never the default branch of the repository.` : "The branch of the task if empty. Never the default branch of the repository."),
    field("Replace the commit", replaces, "The history of the branch is replaced if it is at this commit. If empty, the push must continue the branch."),
    el("label", { class: "check" }, approve, "A person must approve the push first")], "Push", async () => {
    const optional = (control) => control.value.trim() || undefined;
    const made = await post(`${path(task)}/push`, { branch: optional(branch), replaces: optional(replaces), approve_plan: approve.checked });
    say(`${made.task_name} is created.`);
    location.hash = taskAddress(made.id);
  });
}
