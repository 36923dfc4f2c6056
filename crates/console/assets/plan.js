// The first part of a request: what was asked, what was decided by whom and why, the units, the cost and the delivery.

import { dollars, el, facts, fill, moment, row, table, visible } from "./dom.js";
import { unitVerbs } from "./verbs.js";
import { plain, requestAddress, statusBadge } from "./words.js";

export const title = "Plan";

const UNIT_COLUMNS = ["Unit", "Status", "Role and agent", "Starts after", "Attempts", "Result"];
const STEP_COLUMNS = ["Step", "Status", "Result", "Log"];
const DECISION_COLUMNS = ["Decision", "Value", "By", "Reason"];
/** How many units are shown before a person asks for more. */
const FIRST_UNITS = 100;

export function create({ view, refresh }) {
  const node = el("div");
  let limit = FIRST_UNITS;
  const draw = (now) => fill(node, text(now), outcome(now), decisions(now), units(now, { limit, refresh, showAll: () => {
    limit = Infinity;
    draw(now);
  } }), steps(now));
  draw(view);
  let shown = JSON.stringify(view);
  const update = (now) => {
    const content = JSON.stringify(now);
    if (content === shown) return;
    shown = content;
    draw(now);
  };
  return { node, update };
}

const section = (heading, ...content) => el("section", { class: "part" }, el("h2", {}, heading), ...content);

function text(view) {
  const { repository, source } = view;
  return section("What was asked", el("p", { class: "prose asked" }, visible(view.text)), facts([
    ["Repository", repository ? el("code", {}, visible(repository.url)) : null],
    ["Base branch", repository?.base_branch ? visible(repository.base_branch) : null],
    ["Came by", plain(source.origin) + (source.reference ? `: ${visible(source.reference)}` : "")],
    ["Submitted", moment(view.created_at)],
    ["Ended", view.ended_at ? moment(view.ended_at) : null],
  ]));
}

function outcome(view) {
  const { delivery, settings } = view;
  const pushed = delivery && (delivery.is_pushed ? "pushed" : "not pushed");
  const note = (line) => el("li", {}, visible(line));
  return section("Cost and delivery", facts([
    ["Estimate", view.estimate ? estimated(view.estimate) : null],
    ["Cost", cost(view)],
    ["Model calls", String(view.model_calls ?? 0)],
    ["Delivers", plain(settings.deliver)],
    ["Branch", delivery ? el("span", {}, el("code", {}, visible(delivery.branch)), ` (${pushed})`) : null],
    // Text, not a link: the address comes from a forge.
    ["Pull request", delivery?.pull_request ? el("span", {}, el("code", {}, visible(delivery.pull_request)), delivery.is_ready ? "" : " (draft)") : null],
    ["Open notes", view.notes.length ? el("ul", {}, view.notes.map(note)) : null],
    ["Summary", view.summary ? el("p", { class: "prose" }, visible(view.summary)) : null],
  ]));
}

/** Expected model calls and cost, between two bounds. */
function estimated({ model_calls: calls, cost_micro_usd: cost, notes = [] }) {
  const range = cost ? `${dollars(cost.low)} to ${dollars(cost.high)}` : "cost unknown";
  return el("div", {}, `${calls.low} to ${calls.high} model calls, ${range}`, notes.map((note) => el("span", { class: "about" }, visible(note))));
}

function cost({ cost_micro_usd: spent, settings: { budget_micros: budget } }) {
  const known = spent ?? 0;
  if (!budget) return `${dollars(known)}, no budget`;
  return el("span", {}, `${dollars(known)} of ${dollars(budget)} `,
    el("meter", { min: "0", max: String(budget), high: String(budget * 0.8), value: String(Math.min(known, budget)), "aria-label": "Part of the budget that is spent" }));
}

function decisions(view) {
  const { node, body } = table("Decisions", DECISION_COLUMNS);
  const decided = (name, decision, value) => decision && row(DECISION_COLUMNS, [name, visible(value(decision.value)), plain(decision.by), visible(decision.reason)]);
  const answered = ({ subject, question, answer }) => row(DECISION_COLUMNS, [
    `${plain(subject.about)}${subject.unit ? ` ${visible(subject.unit)}` : ""}`, reply(answer), visible(answer.by ?? "no answer in time"),
    el("div", {}, visible(question.text), answer.comment ? el("span", { class: "about" }, visible(answer.comment)) : null),
  ]);
  fill(body, decided("Kind", view.kind, plain), decided("Scope", view.scope, plain),
    decided("Workflow", view.workflow, (kinds) => kinds.map(plain).join(", ")), ...view.answers.map(answered));
  const about = facts([
    ["Project", view.project_kind ? plain(view.project_kind) : null],
    ["Architecture", view.architecture ? visible(view.architecture) : null],
    ["Tests", view.test_commands.length ? el("code", {}, visible(view.test_commands.join("; "))) : null],
  ]);
  return section("Decisions", body.childElementCount ? node : el("p", { class: "nothing" }, "Nothing is decided yet."), about);
}

/** An answer in words. */
function reply({ reply: given }) {
  if (!given) return "none";
  return visible(given.text ?? given.lines?.join("\n") ?? plain(given.form));
}

function units(view, { limit, refresh, showAll }) {
  const all = view.units;
  if (!all.length) return section("Units", el("p", { class: "nothing" }, "The work is not planned yet."));
  const { node, body } = table("Units", UNIT_COLUMNS);
  fill(body, ...all.slice(0, limit).map((unit) => unitRow(view, unit, refresh)));
  const left = all.length - limit;
  const more = left > 0 ? el("div", { class: "more" }, el("button", { type: "button", onclick: showAll }, `Show ${left} more units`)) : null;
  return section(`Units: ${view.progress_percent} % done`, node, more);
}

function unitRow(view, unit, refresh) {
  const newest = unit.attempts.at(-1);
  const rounds = unit.revision_count ? `, sent back ${unit.revision_count}×` : "";
  const attempts = unit.attempts.map((attempt) =>
    el("a", { href: `${requestAddress(view.id, "logs")}?task=${encodeURIComponent(attempt.task_id)}`, title: plain(attempt.status) }, String(attempt.number)));
  const node = row(UNIT_COLUMNS, [
    el("div", {}, el("strong", { class: "mono" }, visible(unit.id)), el("span", { class: "about" }, `${plain(unit.kind)} · ${visible(unit.component)}`)),
    statusBadge(unit.status),
    el("span", {}, worker(view, unit), ...unitVerbs(view, unit, refresh)),
    unit.depends_on.map(visible).join(", "),
    attempts.length ? el("span", { class: "numbers" }, attempts, rounds) : "",
    el("div", {}, el("span", { class: "about" }, visible(unit.notes ?? newest?.result ?? newest?.checkpoint ?? newest?.progress ?? unit.summary ?? ""))),
  ]);
  node.dataset.unit = unit.id;
  return node;
}

/** Who works on a unit: its role, and the agent or the person. */
export function worker(view, unit) {
  const newest = unit.attempts.at(-1);
  const person = view.taken_over?.[unit.id];
  const planned = view.estimate?.units.find((known) => known.unit === unit.id);
  const agent = person ?? (newest ? newest.agent ?? "built-in" : planned?.agent);
  const hint = !person && !newest && planned?.model_hint ? ` (${visible(planned.model_hint)} model)` : "";
  return visible(unit.role) + (agent ? ` · ${visible(agent)}${hint}` : "");
}

function steps(view) {
  if (!view.steps.length) return null;
  const { node, body } = table("Other steps", STEP_COLUMNS);
  fill(body, ...view.steps.map((step) => row(STEP_COLUMNS, [
    `${visible(step.unit)} ${step.number}`, statusBadge(step.status),
    el("div", {}, el("span", { class: "about" }, visible(step.result ?? ""))),
    el("a", { href: `${requestAddress(view.id, "logs")}?task=${encodeURIComponent(step.task_id)}` }, "Log"),
  ])));
  return section("Other steps", node);
}
