// The result of a task: its commands with the checks that were applied, and its jobs.

import { get } from "./api.js";
import { el, facts, fill, KeyedList, moment, nothing, row, table, visible } from "./dom.js";
import { complain } from "./notices.js";
import { endingWords, plain, statusBadge, took } from "./words.js";

export const title = "Result";

const CHECK_COLUMNS = ["Check", "Result", "Judged by", "Finding"];

export async function create({ view, signal }) {
  const address = `/v1/tasks/${encodeURIComponent(view.task.id)}/result`;
  const steps = el("div", { class: "cards" });
  const jobs = el("div");
  const empty = el("div");
  const stepList = new KeyedList(steps, (step) => step.job_id, stepCard);
  const jobList = new KeyedList(jobs, (job) => job.id, jobNode);
  const read = async () => {
    const result = await get(address);
    if (signal.aborted) return;
    stepList.draw(result.steps);
    jobList.draw(result.jobs);
    fill(empty, result.jobs.length ? null : nothing("Nothing has run yet."));
  };
  await read();
  return {
    node: el("div", { class: "part" }, empty, steps, el("h2", { class: "part" }, "Jobs"), jobs),
    update: () => read().catch(complain),
  };
}

function stepCard(step) {
  const { node, body } = table("Checks", CHECK_COLUMNS);
  fill(body, ...step.checks.map((check) => row(CHECK_COLUMNS, [
    plain(check.check), statusBadge(check.result), check.judged_by ? plain(check.judged_by) : "", el("div", {}, visible(check.message)),
  ])));
  const card = el("article", { class: "card" },
    el("div", { class: "card-head" }, el("strong", {}, `Step ${step.step_index + 1}`), statusBadge(step.status), el("span", { class: "soft" }, `attempt ${step.attempt}`)),
    el("pre", { tabindex: "0", "aria-label": `Command of step ${step.step_index + 1}` }, visible(step.command)),
    step.checks.length ? node : null);
  card.dataset.step = step.step_index + 1;
  return card;
}

/** A job; its output is shown when it is opened. */
function jobNode(job) {
  const name = job.exec ? `Command ${job.exec} of the project manager` : `Step ${job.step_index + 1}, attempt ${job.attempt}${job.check ? `, check ${job.check}` : ""}`;
  const ms = job.started_at && job.ended_at ? new Date(job.ended_at) - new Date(job.started_at) : null;
  const node = el("details", { class: "file" }, el("summary", {}, el("strong", {}, name), " ", statusBadge(job.status), " ",
    el("span", { class: "soft" }, visible(job.result ? endingWords(job.result.ending) : ""), ms === null ? "" : ` · ${took(Math.max(0, ms))}`)));
  node.dataset.job = job.id;
  node.addEventListener("toggle", () => {
    if (node.open && node.childElementCount === 1) node.append(el("div", { class: "content" }, details(job)));
  });
  return node;
}

function details(job) {
  const stream = (label, text, isCut) => (text
    ? [el("h3", {}, label), isCut ? el("p", { class: "hint" }, "A part of it was not kept.") : null, el("pre", { class: "log", tabindex: "0", "aria-label": label }, visible(text))] : []);
  const { result } = job;
  return [
    facts([
      ["Job", el("code", {}, job.id)], ["Worker node", job.node_id ? el("code", {}, job.node_id) : null],
      ["Created", moment(job.created_at)], ["Started", job.started_at ? moment(job.started_at) : null], ["Ended", job.ended_at ? moment(job.ended_at) : null],
    ]),
    ...(result ? [...stream("Output", result.stdout, result.truncated.stdout), ...stream("Error output", result.stderr, result.truncated.stderr)] : []),
  ];
}
