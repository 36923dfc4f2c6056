// The first part of a run: what it does, what it waits for, and who drives it.

import { el, facts, fill, moment, visible } from "./dom.js";
import { plain, projectAddress, runAddress, taskAddress } from "./words.js";

export const title = "Overview";

export function create({ run, project }) {
  const node = el("div", { class: "part" });
  let shown = null;
  const update = (now) => {
    const content = JSON.stringify(now);
    if (content === shown) return;
    shown = content;
    fill(node, about(now, project));
  };
  update(run);
  return { node, update };
}

function about(run, project) {
  const { place, step, lease, parent, question } = run;
  return facts([
    ["Waits for", run.waits_for ? visible(run.waits_for) : null],
    ["Workflow node", place ? plain(visible(place.node ?? place.last_node)) : null],
    ["Row", place ? `${place.sequence} (${plain(visible(place.last_node))} → ${plain(visible(place.edge))})` : null],
    ["Step", step ? el("div", {}, `${step.index + 1} of ${step.of}, attempt ${step.attempt} of ${step.max_attempts}`, el("pre", { tabindex: "0", "aria-label": "Action of the step" }, visible(step.action))) : null],
    ["Question", question ? answered(question) : null],
    ["Summary", run.summary ? el("p", { class: "prose" }, visible(run.summary)) : null],
    ["Task", el("a", { href: taskAddress(run.task_id) }, visible(run.task_name))],
    ["Project", project ? el("a", { href: projectAddress(project.id) }, visible(project.display_name)) : null],
    ["Continues from", parent ? el("span", {}, `row ${parent.sequence} of `, el("a", { href: runAddress(parent.run_id) }, el("code", {}, parent.run_id))) : null],
    ["Driven by", lease ? el("span", {}, "runner ", el("code", {}, lease.holder_id), `, epoch ${lease.epoch}, lease ends `, moment(lease.expires_at)) : null],
    ["Created", moment(run.created_at)], ["Started", run.started_at ? moment(run.started_at) : null], ["Ended", run.ended_at ? moment(run.ended_at) : null],
    ["Graph", run.graph_version === undefined ? null : `version ${run.graph_version}`],
  ]);
}

/** A question, and its answer. */
function answered({ text, asked_by: node, asked_at: at, answer }) {
  const reply = answer && (answer.reply ? plain(visible(answer.reply.text ?? answer.reply.lines?.join("\n") ?? answer.reply.form)) : "no answer in time");
  return el("div", {}, el("p", { class: "prose" }, visible(text)),
    el("p", { class: "soft" }, `asked by ${plain(visible(node))} `, moment(at)),
    answer ? el("p", { class: "prose" }, `${answer.by ? `${visible(answer.by)}: ` : ""}${reply}${answer.comment ? ` (${visible(answer.comment)})` : ""}`) : null);
}
