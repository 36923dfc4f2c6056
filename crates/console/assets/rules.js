// The access rules: who may call which tools, models and repositories. And why a call would be allowed or denied.

import { get, remove } from "./api.js";
import { allChanges, showChanges } from "./change-log.js";
import { confirm } from "./dialog.js";
import { badge, el, fill, row, select, table, visible } from "./dom.js";
import { explainPart } from "./explain.js";
import { say } from "./notices.js";
import { actButton, rowVerbs } from "./row-verbs.js";
import { ACTIONS, createRule, EFFECTS } from "./rule-form.js";
import { namesById } from "./subject-id.js";

export const title = "Rules";

const COLUMNS = ["Effect", "Action", "Resource", "For", "Callers", ""];
/** How many projects have their names shown instead of their ids. */
const MOST = 200;
/** How many rules are shown until a person asks for the rest. */
const FIRST_RULES = 25;

export async function create({ me, signal }) {
  const asked = await explainPart(me);
  if (!me.is_admin) return el("div", {}, asked);
  return el("div", {}, await rulesPart(me, signal), asked);
}

async function rulesPart(me, signal) {
  const names = await subjectNames(me);
  const search = el("input", { type: "search", placeholder: "Search action, resource or subject", "aria-label": "Search rules" });
  const effect = select({ "aria-label": "Effect" }, [["", "Allow and deny"], ...EFFECTS]);
  const count = el("p", { class: "count", role: "status" });
  const { node, body } = table("Access rules, those that people wrote first", COLUMNS);
  const empty = el("p", { class: "nothing" });
  const rest = el("button", { type: "button", "data-verb": "all-rules" });
  let [rules, isWhole] = [[], false];
  const draw = () => {
    const words = search.value.trim().toLowerCase();
    const shown = rules.filter((each) => (!effect.value || each.effect === effect.value)
      && `${each.action}\n${each.resource_pattern}\n${subjectWords(each, names)}`.toLowerCase().includes(words));
    fill(body, ...shown.slice(0, isWhole ? shown.length : FIRST_RULES).map((each) => line(each, names, read)));
    rest.hidden = isWhole || shown.length <= FIRST_RULES;
    fill(rest, `Show all ${shown.length}`);
    [node.hidden, empty.hidden] = [shown.length === 0, shown.length > 0];
    fill(empty, rules.length ? "No rule matches." : "There are no rules: everything is denied.");
    fill(count, shown.length === rules.length ? `${rules.length} rules` : `${shown.length} of ${rules.length} rules`);
  };
  async function read() {
    const found = await get("/v1/rules");
    if (signal.aborted) return;
    // Those that people wrote come before those that are built in.
    rules = found.sort((a, b) => Boolean(b.updated_by) - Boolean(a.updated_by));
    draw();
  }
  for (const control of [search, effect]) control.addEventListener("input", draw);
  rest.addEventListener("click", () => {
    isWhole = true;
    draw();
    body.children[FIRST_RULES]?.querySelector("button")?.focus();
  });
  await read();
  const log = actButton({ "data-verb": "history" }, "History", () => showChanges("History of rules", allChanges("access_control_rule")));
  const add = el("button", { type: "button", class: "main", "data-verb": "new-rule", onclick: () => createRule(read) }, "New rule");
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Access rules"), count, el("div", { class: "verbs" }, log, add)),
    el("p", { class: "soft" }, "What no rule allows is denied, and any rule that denies wins."),
    el("div", { class: "toolbar", role: "search" }, search, effect), node, empty, el("div", { class: "more" }, rest));
}

/** The names of users, groups and projects by id. */
async function subjectNames(me) {
  const [names, projects] = await Promise.all([namesById(me), get(`/v1/projects?limit=${MOST}`)]);
  return new Map([...names, ...projects.items.map((each) => [each.id, each.slug])]);
}

function subjectWords({ subject_type: kind, subject_id: id }, names) {
  if (kind === "system") return "everyone";
  if (kind === "agent") return `agents: ${id}`;
  return `${kind} ${names.get(id) ?? id}`;
}

const actionWords = (action) => ACTIONS.find(([name]) => name === action)?.[1] ?? action;

function line(each, names, refresh) {
  const pattern = visible(each.resource_pattern);
  const callers = each.conditions.callers ?? [];
  const about = [each.server_id ? `only the server ${each.server_id}` : null, each.priority ? `priority ${each.priority}` : null].filter(Boolean);
  const subject = visible(subjectWords(each, names));
  const drop = () => confirm("Delete the rule?", `It ${each.effect === "allow" ? "allows" : "denies"} ${pattern} (${visible(each.action)}) for ${subject}. Open connections notice at once.`, "Delete", async () => {
    await remove(`/v1/rules/${encodeURIComponent(each.id)}`);
    say("The rule is deleted.");
    await refresh();
  }, "Keep it");
  const history = () => showChanges("History of the rule", `/v1/rules/${encodeURIComponent(each.id)}/changes`);
  const node = row(COLUMNS, [
    el("div", {}, badge(each.effect, each.effect === "allow" ? "good" : "bad")), el("span", { title: each.action }, visible(actionWords(each.action))),
    el("div", {}, el("code", {}, pattern), each.updated_by ? null : [" ", badge("built in")], about.length ? el("span", { class: "about" }, visible(about.join(" · "))) : null),
    subject, callers.length ? callers.join(", ") : "any", rowVerbs(`${each.effect} ${pattern} for ${subject}`, [["History", history], ["Delete", drop]]),
  ]);
  node.dataset.rule = each.resource_pattern;
  return node;
}
