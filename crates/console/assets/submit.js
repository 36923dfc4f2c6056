// The form that submits a request, or only plans it.

import { get, post } from "./api.js";
import { el, field, fill, select, toggle } from "./dom.js";
import { reasons } from "./notices.js";
import { KINDS, REQUEST_SCOPES, requestAddress } from "./words.js";

const DELIVERIES = [["branch", "A branch"], ["pull_request", "A branch and a pull request"], ["patch", "A patch; nothing is pushed"]];

export async function render({ query }) {
  const from = query.get("from") ? await get(`/v1/requests/${encodeURIComponent(query.get("from"))}`) : null;
  document.title = "New request · CyNode";
  const input = (attributes) => el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
  const given = (node, value) => Object.assign(node, { value: value ?? "" });
  const old = { ...from?.settings };
  const text = given(el("textarea", { name: "text", rows: "8", required: true, placeholder: "Add a dark mode toggle to the settings page" }), from?.text);
  const url = given(input({ name: "url", required: true, placeholder: "git@forge.internal:team/site.git or /srv/git/site" }), from?.repository?.url);
  const base = given(input({ name: "base" }), from?.repository?.base_branch);
  const branch = input({ name: "branch" });
  const name = input({ name: "name", maxlength: "200" });
  const project = input({ name: "project" });
  const agent = given(input({ name: "agent" }), old.agent);
  const kind = select({ name: "kind" }, [["", "Decided by rules or a model"], ...KINDS], "");
  const scope = select({ name: "scope" }, [["", "Decided by rules or a model"], ...REQUEST_SCOPES], "");
  const deliver = select({ name: "deliver" }, DELIVERIES, old.deliver ?? "branch");
  const budget = given(input({ name: "budget", type: "number", min: "0.01", step: "0.01", inputmode: "decimal" }), old.budget_micros ? String(old.budget_micros / 1_000_000) : "");
  const rounds = given(input({ name: "rounds", type: "number", min: "0", max: "10" }), String(old.max_review_rounds ?? 2));
  const parallel = given(input({ name: "parallel", type: "number", min: "1", max: "32" }), String(old.max_parallel_units ?? 4));
  const comments = given(input({ name: "comments", type: "number", min: "0", max: "20" }), String(old.max_pull_request_rounds ?? 5));
  const tests = toggle("The tests of the project must pass", old.require_tests_pass ?? true, { name: "tests" });
  const minor = toggle("Agents do not get minor issues", old.skip_minor_issues ?? true, { name: "minor" });
  const brief = el("input", { type: "checkbox", name: "brief" });
  const force = el("input", { type: "checkbox", name: "force" });
  const check = (control, words) => el("label", { class: "check" }, control, words);
  brief.checked = from?.source.is_brief ?? false;

  const body = (dryRun) => {
    const optional = (control) => control.value.trim() || undefined;
    return {
      text: text.value, repository: { url: url.value.trim(), base_branch: optional(base), branch: optional(branch) },
      name: optional(name), project: optional(project), kind: optional(kind), scope: optional(scope),
      is_brief: brief.checked, force: force.checked,
      settings: {
        deliver: deliver.value, max_review_rounds: Number(rounds.value), require_tests_pass: tests.checked,
        skip_minor_issues: minor.checked, max_parallel_units: Number(parallel.value), max_pull_request_rounds: Number(comments.value), dry_run: dryRun, agent: optional(agent),
        budget_micros: budget.value ? Math.round(Number(budget.value) * 1_000_000) : undefined,
      },
    };
  };
  const trouble = el("div", { role: "alert", class: "trouble" });
  const submit = el("button", { type: "submit", class: "main", name: "submit" }, "Submit");
  const dryRun = el("button", { type: "submit", name: "dry-run" }, "Plan only (dry run)");
  const anyway = check(force, "Submit it although it looks like a question, several requests, or one that is open");
  anyway.hidden = true;
  const form = el("form", { class: "submission" },
    field("What should be done", text, "In your own words. A list of requirements is reviewed point by point."),
    field("Repository", url, "An address that a worker node can clone, or a path that its operator allows."),
    el("div", { class: "row" }, field("Base branch", base, "The default branch if empty."), field("Delivers", deliver)),
    el("details", {}, el("summary", {}, "More"),
      el("div", { class: "row" }, field("Kind", kind), field("Scope", scope)),
      el("div", { class: "row" }, field("Name", name), field("Project", project)),
      el("div", { class: "row" }, field("Branch", branch, "cynode/ and the name if empty."), field("Agent", agent, "A name of cynork agent profiles; chosen by role if empty.")),
      el("div", { class: "row" }, field("Budget in dollars", budget, "No attempt starts above it."), field("Review rounds", rounds), field("Units at once", parallel),
        field("Pull request rounds", comments, "Started by comments and failed checks.")),
      check(tests, "The tests of the project must pass"), check(minor, "Minor issues are noted, not sent back"), check(brief, "The text is a brief of a new project")),
    anyway, trouble, el("div", { class: "actions" }, dryRun, submit));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    [submit.disabled, dryRun.disabled] = [true, true];
    fill(trouble);
    try {
      const made = await post("/v1/requests", body(event.submitter === dryRun));
      location.hash = requestAddress(made.id);
    } catch (error) {
      [submit.disabled, dryRun.disabled] = [false, false];
      fill(trouble, ...reasons(error));
      anyway.hidden = ![400, 409, 422].includes(error.status);
    }
  });
  return el("section", { class: "narrow" },
    el("p", { class: "crumb" }, el("a", { href: "#/requests" }, "Requests")),
    el("h1", { tabindex: "-1" }, "New request"), form);
}
