// The timeline: what happened to a request or a task, newest first, as it happens.

import { el, fill, moment, visible } from "./dom.js";
import { endingWords, plain } from "./words.js";

export const title = "Timeline";

/** How many events are shown before a person asks for more, and how many are kept. */
const [STEP, MOST] = [200, 5000];

export function create() {
  const list = el("ol", { class: "timeline", reversed: true });
  const more = el("button", { type: "button" }, "Show earlier events");
  const note = el("p", { class: "hint" });
  const nothing = el("p", { class: "nothing" }, "No event is recorded.");
  let [events, limit, isDue, isCut] = [[], STEP, false, false];
  const draw = () => {
    isDue = false;
    // New events are inserted before those that are shown already.
    const shown = events.slice(-limit).reverse();
    const present = new Map([...list.children].map((node) => [node.dataset.event, node]));
    list.replaceChildren(...shown.map((event) => present.get(event.id) ?? line(event)));
    more.hidden = events.length <= limit;
    nothing.hidden = events.length > 0;
    fill(note, isCut && more.hidden ? `The newest ${MOST} events are shown.` : null);
  };
  more.addEventListener("click", () => {
    limit += STEP;
    draw();
  });
  draw();
  const onEvent = (event) => {
    events.push(event);
    if (events.length > MOST) {
      events = events.slice(-MOST);
      isCut = true;
    }
    if (isDue) return;
    isDue = true;
    setTimeout(draw, 50);
  };
  return { node: el("div", { class: "part" }, list, nothing, note, el("div", { class: "more" }, more)), update: () => {}, onEvent };
}

function line(event) {
  const [words, detail] = describe(event);
  const node = el("li", {}, moment(event.occurred_at),
    el("div", {}, el("span", {}, visible(words)), detail ? el("span", { class: "about" }, visible(detail)) : null));
  node.dataset.event = event.id;
  node.dataset.kind = event.kind;
  return node;
}

/** An event in words, and more about it. */
function describe({ kind, data }) {
  const list = (items) => (items ?? []).map(plain).join(", ");
  const step = data.exec ? `command ${data.exec} of the project manager: ` : data.step_index === undefined || data.step_index === null ? "" : `step ${data.step_index + 1}: `;
  const author = data.by ? `${plain(data.by)}: ${data.reason ?? ""}` : null;
  const texts = {
    "request.submitted": () => [`Submitted (${plain(data.origin)})`],
    "request.classified": () => [`Kind: ${plain(data.kind)}`, author],
    "request.context_read": () => [`Project read: ${plain(data.project_kind)}, ${data.files} files${data.is_cached ? " (as read before)" : ""}`, data.architecture],
    "request.planned": () => [`Scope: ${plain(data.scope)}; units: ${list(data.workflow)}; components: ${(data.components ?? []).join(", ")}`, author],
    "request.unit_reported": () => [`${data.unit}: attempt ${data.attempt} reports ${plain(data.report)}`, data.text],
    "request.unit_replanned": () => [`${data.unit}: ${plain(data.instruction)}`, data.text],
    "request.attempt_started": () => [`${data.unit}: attempt ${data.attempt} started`],
    "request.attempt_ended": () => [`${data.unit}: attempt ${data.attempt} ended: ${plain(data.outcome?.verdict ?? data.outcome?.result ?? "")}`, data.outcome?.message],
    "request.unit_approved": () => [`${data.unit}: approved`, data.reason],
    "request.phase_changed": () => [`Phase: ${plain(data.phase)}`],
    "request.waiting": () => ["Waits for a person", data.question?.question?.text],
    "request.answered": () => [`Answered by ${data.answer?.by ?? "a person"}`, data.answer?.reply?.text ?? plain(data.answer?.reply?.form ?? "")],
    "request.overridden": () => [`${data.by} decided: ${[data.kind, data.scope].filter(Boolean).map(plain).join(", ")}`],
    "request.paused": () => [`Paused by ${data.by}`],
    "request.resumed": () => [`Resumed by ${data.by}`],
    "request.taken_over": () => [`${data.unit}: taken over by ${data.by}`],
    "request.handed_back": () => [`${data.unit}: handed back by ${data.by}`],
    "request.pull_request_opened": () => ["Pull request opened", data.url],
    "request.round_started": () => [`Round ${data.round} for ${data.findings} comments and checks of the pull request`],
    "request.rounds_spent": () => [`No further round: ${data.findings} comments and checks are left after ${data.limit} rounds`],
    "request.comments_truncated": () => ["The pull request has more comments than are read"],
    "request.completed": () => ["Completed", data.summary],
    "work_unit.changed": () => [`${data.work_unit_id ?? data.unit}: ${plain(data.status)}`],
    "work_plan.completed": () => ["Every unit is completed"],
    "task.created": () => ["Created"],
    "task.started": () => ["Claimed by a runner"],
    "task.updated": () => [`Changed by ${data.by}`, list(data.changed)],
    "task.artifacts_deleted": () => [`Files deleted by ${data.by}`, (data.paths ?? []).join(", ")],
    "workflow.transition": () => [`${step}${plain(data.node)} → ${plain(data.edge)}`],
    "job.queued": () => [`${step}waits for a worker node`],
    "job.placed": () => [`${step}runs on ${data.node}`, data.reason],
    "job.started": () => [`${step}started`],
    "job.ended": () => [`${step}${data.ending ? endingWords(data.ending) : "ended"}`],
    "finding.created": () => [`${step}finding: ${plain(data.status ?? "unknown")}`],
    "analyst.died": () => [`${step}the analyst failed (attempt ${data.attempt} of ${data.attempts})`, data.reason],
    "run.asked": () => ["Waits for a person", data.question?.text],
    "run.answered": () => [`Answered by ${data.by}`],
    "run.unanswered": () => ["No answer in time"],
    "run.paused": () => [`Paused by ${data.by}`],
    "run.resumed": () => [`Resumed by ${data.by}`],
    "run.retried": () => [`Retried by ${data.by}`, data.node ? `from ${plain(data.node)}` : null],
    "run.forked": () => [`Forked by ${data.by}`, data.task],
    // The event of a completed request has the same summary.
    "task.closed": () => [`Ended: ${plain(data.status ?? "")}`, data.status === "completed" ? null : data.summary],
  };
  const [words, detail] = texts[kind]?.() ?? [plain(kind.replace(".", ": "))];
  return [words, typeof detail === "string" ? detail : null];
}
