// Fields that describe a task: what is done, how it is checked, and within which limits. Forms of tasks and of schedules share them.

import { el, field, fill, select } from "./dom.js";

/** Kinds of work: the words of the choice, the label of the text, and what it means. */
const KINDS = {
  commands: ["Commands", "Commands, one on each line", "Each line is a step; the next one starts once it has succeeded."],
  script: ["A script", "Script", "Its #! line selects the interpreter."],
  prompt: ["Prose, planned by a model", "What should be done", "A model turns it into commands; without a model, you are asked for them."],
  agent: ["Prose, for an agent", "What should be done", "An agent carries it out in a sandbox."],
  manager: ["Prose, for the project manager", "What should be done", "The project manager creates the tasks when the schedule is due."],
  request: ["A request on a repository", "What should be done", "Submitted as on the page of requests when the schedule is due."],
};
const DEFAULT_LIMITS = { timeout_s: 3600, memory_mib: 2048, processes: 256, disk_mib: 2048, output_bytes: 262_144 };

/** The lines of a text field that are not empty. */
export const linesOf = (control) => control.value.split("\n").map((line) => line.trim()).filter(Boolean);

/** A text field for a name or an address. */
export const plainInput = (attributes, value = "") =>
  Object.assign(el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes }), { value: value ?? "" });

/** A field for a number; it is undefined if it is empty. */
export const numberInput = (attributes, value) =>
  Object.assign(el("input", { type: "number", inputmode: "numeric", ...attributes }), { value: value ?? "" });
const numberOf = (control, factor = 1) => (control.value === "" ? undefined : Math.round(Number(control.value) * factor));

const textarea = (attributes, lines = []) => Object.assign(el("textarea", { rows: "3", autocapitalize: "none", spellcheck: "false", ...attributes }), { value: lines.join("\n") });

/** Reads a criterion as the command line does. */
export function parseCriterion(text) {
  const [, prefix, rest] = /^(exit|output|file|check):(.*)$/s.exec(text) ?? [];
  if (prefix === "exit") {
    if (!/^\s*-?\d+\s*$/.test(rest)) throw new Error(`“${rest}” is not an exit code.`);
    return { kind: "exit_code", equals: Number(rest) };
  }
  if (prefix === "output") return { kind: "output_matches", pattern: /^\/(.*)\/$/s.exec(rest)?.[1] ?? rest };
  if (prefix === "file") return { kind: "file_exists", path: rest };
  if (prefix === "check") return { kind: "command_succeeds", command: rest.trim() };
  return { kind: "text", description: text };
}

/** A criterion as a line. */
export function criterionLine(criterion) {
  const lines = { exit_code: () => `exit:${criterion.equals}`, output_matches: () => `output:/${criterion.pattern}/`, file_exists: () => `file:${criterion.path}`, command_succeeds: () => `check:${criterion.command}` };
  return lines[criterion.kind]?.() ?? criterion.description ?? criterion.kind;
}

/** Whether criteria can be written as lines and read back. */
export function areLines(criteria) {
  try {
    const lines = criteria.map(criterionLine);
    return !lines.some((line) => line.includes("\n") || line !== line.trim()) && JSON.stringify(lines.map(parseCriterion)) === JSON.stringify(criteria);
  } catch {
    return false;
  }
}

/** What is done: its kind and its text. `changed` gets the kind. */
export function workFields(kinds, { kind, text }, changed = () => {}) {
  const choice = select({ name: "kind" }, kinds.map((key) => [key, KINDS[key][0]]), kind);
  const input = Object.assign(el("textarea", { name: "work", rows: "8", required: true, autocapitalize: "none", spellcheck: "false" }), { value: text });
  const [label, hint] = [el("span"), el("span", { class: "hint" })];
  const show = () => {
    fill(label, KINDS[choice.value][1]);
    fill(hint, KINDS[choice.value][2]);
    changed(choice.value);
  };
  choice.addEventListener("change", show);
  const lines = () => input.value.split("\n").filter((line) => line.trim());
  return {
    nodes: [field("Kind of work", choice), el("label", { class: "field" }, label, input, hint)],
    show,
    kind: () => choice.value,
    text: () => input.value,
    /** The work as fields of a task. */
    task: () => (choice.value === "commands" ? { input_mode: "commands", commands: lines(), prompt: "" } : { input_mode: choice.value, prompt: input.value, commands: [] }),
  };
}

/** How a task is checked, within which limits and where it runs. `initial` is a task as it was created. */
export function boundFields(initial = {}) {
  const limits = Object.fromEntries(Object.entries({ ...DEFAULT_LIMITS, ...initial.limits }).map(([name, value]) => [name, value === DEFAULT_LIMITS[name] ? "" : value]));
  const limit = (name, min = "1") => numberInput({ name, min, placeholder: String(DEFAULT_LIMITS[name]) }, limits[name]);
  const criteria = textarea({ name: "criteria" }, (initial.acceptance_criteria ?? []).map(criterionLine));
  const stepCriteria = textarea({ name: "step_criteria", rows: "2" }, (initial.step_criteria ?? []).map(({ step_index: index, criterion }) => `${index + 1}:${criterionLine(criterion)}`));
  // Criteria that are no lines stay as they are.
  const [isText, isStepText] = [initial.acceptance_criteria ?? [], (initial.step_criteria ?? []).map(({ criterion }) => criterion)].map(areLines);
  const fixed = (words) => el("p", { class: "hint" }, words);
  const outputs = textarea({ name: "outputs", rows: "2" }, initial.expected_outputs);
  const [timeout, memory, processes, disk, output] = [limit("timeout_s"), limit("memory_mib"), limit("processes"), limit("disk_mib"), limit("output_bytes")];
  const attempts = numberInput({ name: "max_attempts", min: "1", max: "10" }, initial.max_attempts);
  const answerWithin = numberInput({ name: "answer_within", min: "1", step: "any", inputmode: "decimal" }, initial.answer_within_s ? initial.answer_within_s / 60 : undefined);
  const check = (name, value) => Object.assign(el("input", { type: "checkbox", name }), { checked: Boolean(value) });
  const retry = check("retry_interrupted", initial.retry_interrupted);
  const approve = check("approve_plan", initial.approve_plan);
  const node = plainInput({ name: "node" }, initial.node);
  const labels = textarea({ name: "node_labels", rows: "2" }, Object.entries(initial.node_labels ?? {}).map(([key, value]) => `${key}=${value}`));
  const image = plainInput({ name: "image" }, initial.image);
  const row = (...fields) => el("div", { class: "row" }, fields);
  const group = (name, words, ...content) => el("details", { "data-group": name }, el("summary", {}, words), ...content);
  const checks = group("checks", "Checks",
    !isText ? fixed("The acceptance criteria have several lines and stay as they are.") : field("Acceptance criteria", criteria, "One on each line: exit:0, output:/regex/, file:path, check:command, or prose that is judged."),
    !isStepText ? fixed("The criteria for single commands have several lines and stay as they are.") : field("Criteria for single commands", stepCriteria, "With the number of the command: 1:file:report.txt. Checked before the next command starts."),
    field("Expected files", outputs, "Files that the last step must copy to the artifacts, one on each line."));
  const bounds = group("limits", "Limits and attempts",
    row(field("Seconds of each step", timeout), field("Memory in MiB", memory), field("Processes", processes)),
    row(field("Disk in MiB", disk), field("Bytes of output kept", output), field("Attempts of a step", attempts, "1, or as preferences say.")),
    el("label", { class: "check" }, retry, "Repeat a step after an interruption: only for work that is safe to repeat"),
    el("label", { class: "check" }, approve, "A person must approve the plan before anything runs"),
    field("Minutes to answer a question", answerWithin, "Then the task fails. Without a limit if empty."));
  const placement = group("placement", "Where it runs",
    row(field("Worker node", node, "Chosen by the project manager if empty."), field("Image", image, "The system of the node if empty.")),
    field("Labels of the worker node", labels, "One on each line, such as zone=eu. Not together with a worker node."));
  return {
    nodes: [checks, bounds, placement],
    value: () => ({
      acceptance_criteria: isText ? linesOf(criteria).map(parseCriterion) : initial.acceptance_criteria,
      step_criteria: isStepText ? linesOf(stepCriteria).map(parseStepCriterion) : initial.step_criteria, expected_outputs: linesOf(outputs),
      limits: { timeout_s: numberOf(timeout), memory_mib: numberOf(memory), processes: numberOf(processes), disk_mib: numberOf(disk), output_bytes: numberOf(output) },
      max_attempts: numberOf(attempts), retry_interrupted: retry.checked, approve_plan: approve.checked, answer_within_s: numberOf(answerWithin, 60),
      node: node.value.trim() || undefined, image: image.value.trim() || undefined, node_labels: Object.fromEntries(linesOf(labels).map(parseLabel)),
    }),
  };
}

function parseStepCriterion(line) {
  const [, number, rest] = /^(\d+):\s*(.+)$/s.exec(line) ?? [];
  if (!Number(number)) throw new Error(`“${line}” does not begin with the number of a command: 1:CHECK for the first one.`);
  return { step_index: Number(number) - 1, criterion: parseCriterion(rest) };
}

function parseLabel(line) {
  const [key, ...value] = line.split("=");
  if (!value.length) throw new Error(`“${line}” is no label: write KEY=VALUE.`);
  return [key.trim(), value.join("=").trim()];
}

/** Opens what hides a field that the browser rejects, so that it can show why. */
export function revealInvalid(form) {
  form.addEventListener("invalid", ({ target }) => {
    const hiding = target.closest("details");
    if (hiding) hiding.open = true;
  }, true);
}
