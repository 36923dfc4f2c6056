// The evidence: what reviewers found about each requirement, and what checked each attempt.

import { get, getText } from "./api.js";
import { badge, el, fill, KeyedList, nothing, row, table, visible } from "./dom.js";
import { reasons } from "./notices.js";
import { isOpen, plain, statusBadge } from "./words.js";

export const title = "Evidence";

const CRITERION_COLUMNS = ["Requirement", "Met", "Evidence"];
const ISSUE_COLUMNS = ["Issue", "Severity", "Where", "How to fix it"];
const CHECK_COLUMNS = ["Check", "Result", "Judged by", "Finding"];
const SEVERITIES = [["criticalIssues", "critical", "bad"], ["majorIssues", "major", "bad"], ["minorIssues", "minor", ""]];

export function create({ view }) {
  const [place, empty] = [el("div"), nothing("No attempt has ended yet.")];
  const requirements = el("ol", {}, view.requirements.map((text) => el("li", {}, visible(text))));
  const list = new KeyedList(place, (item) => item.attempt.task_id, (item) => attemptNode(item, view.requirements));
  const update = (now) => {
    const units = now.units.flatMap((unit) => unit.attempts.map((attempt, index) =>
      ({ attempt, kind: unit.kind, isNewest: index === unit.attempts.length - 1 })));
    const steps = now.steps.filter((step) => step.unit === "integrate").map((attempt) => ({ attempt, kind: "integrate", isNewest: false }));
    const ended = [...units, ...steps].filter(({ attempt }) => !isOpen(attempt.status)).reverse();
    list.draw(ended);
    empty.hidden = ended.length > 0;
  };
  update(view);
  const node = el("div", { class: "part" }, el("h2", {}, "Requirements"), requirements, el("h2", { class: "part" }, "Reviews and checks"), place, empty);
  return { node, update };
}

/** One attempt; what it left is read when it is opened. The newest reviews are open. */
function attemptNode({ attempt, kind, isNewest }, requirements) {
  const content = el("div", { class: "content" });
  const node = el("details", { class: "file" },
    el("summary", {}, el("strong", { class: "mono" }, visible(attempt.unit)), ` attempt ${attempt.number} `, statusBadge(attempt.status)), content);
  node.dataset.attempt = attempt.unit;
  node.addEventListener("toggle", async () => {
    if (!node.open || content.childElementCount) return;
    fill(content, el("p", { class: "soft" }, "Reading…"));
    try {
      fill(content, ...(kind === "review" ? await review(attempt, requirements) : await checks(attempt)));
    } catch (error) {
      fill(content, el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
  });
  node.open = kind === "review" && isNewest;
  return node;
}

/** What a reviewer found about a requirement. */
function judgement(isMet, isOutOfScope) {
  if (isMet === true) return badge("met", "good");
  return isOutOfScope === true ? badge("out of scope") : badge("not met", "bad");
}

async function review(attempt, requirements) {
  const path = `/v1/tasks/${encodeURIComponent(attempt.task_id)}/artifacts/content?path=review.json&kind=output`;
  let report;
  try {
    report = JSON.parse(await getText(path));
  } catch (error) {
    if (error.status !== undefined && error.status !== 404) throw error;
    return [nothing("The reviewer left no report that can be read."), attempt.result ? el("p", { class: "prose" }, visible(attempt.result)) : null];
  }
  // An agent wrote the report: every value may be missing or of another type.
  const items = (value) => (Array.isArray(value) ? value.filter((item) => item && typeof item === "object") : []);
  const text = (value) => (typeof value === "string" ? visible(value) : "");
  const criteria = table("Requirements", CRITERION_COLUMNS);
  fill(criteria.body, ...items(report.criteria).map(({ number, isMet, isOutOfScope, evidence }) => row(CRITERION_COLUMNS, [
    `${Number(number)}. ${visible(requirements[number - 1] ?? "")}`, judgement(isMet, isOutOfScope),
    el("div", {}, el("code", {}, text(evidence))),
  ])));
  const issues = table("Issues", ISSUE_COLUMNS);
  fill(issues.body, ...SEVERITIES.flatMap(([key, severity, tone]) => items(report[key]).map((issue) => row(ISSUE_COLUMNS, [
    el("div", {}, text(issue.description)), badge(severity, tone), el("div", {}, el("code", {}, text(issue.fileLocation))), el("div", {}, text(issue.howToFix)),
  ]))));
  return [
    el("p", {}, statusBadge(typeof report.verdict === "string" ? report.verdict : "no verdict"), " ", text(report.summary)),
    criteria.body.childElementCount ? criteria.node : null, issues.body.childElementCount ? issues.node : null,
  ];
}

async function checks(attempt) {
  const { steps } = await get(`/v1/tasks/${encodeURIComponent(attempt.task_id)}/result`);
  const { node, body } = table("Checks", CHECK_COLUMNS);
  const tone = { met: "good", not_met: "bad" };
  fill(body, ...steps.flatMap((step) => step.checks.map((check) => row(CHECK_COLUMNS, [
    plain(check.check), badge(plain(check.result), tone[check.result] ?? ""), plain(check.judged_by ?? ""), el("div", {}, visible(check.message)),
  ]))));
  return [attempt.result ? el("p", { class: "prose" }, visible(attempt.result)) : null, body.childElementCount ? node : nothing("No check was applied.")];
}
