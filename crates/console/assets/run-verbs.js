// What a person can do with a run: answer its question, pause, resume, retry and fork it.

import { post } from "./api.js";
import { answerForm, questionText } from "./answer.js";
import { formDialog } from "./dialog.js";
import { badge, el, field, moment, select, visible } from "./dom.js";
import { complain, say } from "./notices.js";
import { plain, runAddress, taskAddress } from "./words.js";

/** The workflow nodes that a retry may start from. */
const NODES = ["load_task_context", "plan_steps", "dispatch_step", "collect_result", "verify_step_result", "finalize_summary"];

const path = (run) => `/v1/runs/${encodeURIComponent(run.id)}`;

/** The question of a run, with the form that answers it. */
export function questionCard({ id, question }, refresh) {
  const until = question.answer_by ? el("p", { class: "soft" }, "An answer is due at ", moment(question.answer_by), ".") : null;
  return el("article", { class: "card asks" }, el("div", { class: "card-head" }, badge("needs you", "warn")),
    questionText(question), until, answerForm(`${path({ id })}/answer`, question.accepts, refresh));
}

/**
 * The buttons for what a person can do with a run now. `current` returns its newest view, `isFork` offers a fork of its newest row;
 * without `isRetry` no retry is offered: a request starts its attempts itself.
 */
export function runVerbs(run, { current, refresh, isFork = true, isRetry = true }) {
  if (!run) return [];
  const button = (words, verb, act) => el("button", { type: "button", "data-verb": verb, onclick: act }, words);
  const isPaused = ["pausing", "paused"].includes(run.state);
  return [
    ["queued", "waiting", "running", "needs_answer"].includes(run.state) ? button("Pause", "pause", () => steer(run, "pause", refresh)) : null,
    isPaused ? button("Resume", "resume", () => steer(run, "resume", refresh)) : null,
    isRetry && ["failed", "canceled"].includes(run.state) ? button("Retry", "retry", () => retry(run)) : null,
    isFork && run.place ? button("Fork", "fork", () => fork(current(), current().place.sequence)) : null,
  ];
}

async function steer(run, verb, refresh) {
  try {
    const { state } = await post(`${path(run)}/${verb}`);
    say(verb === "resume" ? "The run goes on." : state === "pausing" ? "The run pauses after its workflow node." : "The run is paused.");
    await refresh();
  } catch (error) {
    complain(error);
  }
}

function retry(run) {
  const node = select({ name: "node" }, [["", "The node or step that failed"], ...NODES.map((name) => [name, plain(name)])], "");
  formDialog(`Retry ${visible(run.task_name)}`, [
    el("p", {}, "A new run of the same task, in the same workspace. Earlier steps are not repeated."),
    field("Start from", node)], "Retry", async () => {
    const made = await post(`${path(run)}/retry`, { node: node.value || undefined });
    say(`${run.task_name} is retried.`);
    location.hash = runAddress(made.id);
  });
}

/** Asks for the row of the history and the name of the new task, and forks a run. */
export function fork(run, sequence) {
  const row = Object.assign(el("input", { name: "sequence", type: "number", min: "1", required: true }), { value: sequence });
  const name = el("input", { name: "task_name", maxlength: "200", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  formDialog(`Fork ${visible(run.task_name)}`, [
    el("p", {}, "A new task with a workspace of its own continues from a row of the history. This run is not affected."),
    field("Row of the history", row, "Steps before it are not repeated."),
    field("Name of the new task", name, "Derived from the old name if empty.")], "Fork", async () => {
    const made = await post(`${path(run)}/fork`, { sequence: Number(row.value), task_name: name.value.trim() || undefined });
    say(`${made.task_name} is created.`);
    location.hash = taskAddress(made.task_id);
  });
}
