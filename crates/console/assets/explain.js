// Why a call would be allowed or denied, without making it.

import { get, post } from "./api.js";
import { badge, el, field, fill, row, select, table, visible } from "./dom.js";
import { reasons } from "./notices.js";

/** Who calls. */
export const CALLERS = [["pm", "Project manager (pm)"], ["pa", "Analysts (pa)"], ["sandbox", "Agents in sandboxes (sandbox)"], ["user", "People (user)"]];

const COLUMNS = ["Stage", "Verdict", "Reason"];
const VERDICTS = { pass: ["passes", "good"], refuse: ["denies", "bad"], skipped: ["not looked at", ""] };

/** The form, and what it found. */
export async function explainPart(me) {
  const tools = await get("/v1/tools");
  const input = (attributes) => el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
  const caller = select({ name: "caller" }, CALLERS, "user");
  const tool = input({ name: "tool", required: true, list: "tools-to-explain" });
  const names = el("datalist", { id: "tools-to-explain" }, tools.map(({ name }) => el("option", { value: name })));
  const user = input({ name: "user", placeholder: me.handle });
  const task = input({ name: "task" });
  const given = el("textarea", { name: "arguments", rows: "3", placeholder: "{ }", spellcheck: "false" });
  const ask = el("button", { type: "submit" }, "Explain");
  const result = el("div", { "aria-live": "polite" });
  const form = el("form", {}, el("div", { class: "row" }, field("Caller", caller), field("Tool", tool), me.is_admin ? field("User (you if empty)", user) : null, field("Task (optional)", task)),
    names, field("Arguments as JSON (optional)", given), el("div", {}, ask));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    ask.disabled = true;
    try {
      const view = await post("/v1/access/explain", {
        caller: caller.value, tool: tool.value.trim(), user: user.value.trim() || undefined, task: task.value.trim() || undefined, arguments: parse(given.value),
      });
      fill(result, ...outcome(view));
    } catch (error) {
      fill(result, el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
    ask.disabled = false;
  });
  return el("section", { class: "part submission" }, el("h2", {}, "Explain a decision"),
    el("p", { class: "soft" }, "Which stage allows or denies a call. Nothing is called."), form, result);
}

function parse(text) {
  if (!text.trim()) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("The arguments are not JSON.");
  }
}

function outcome({ allowed, refused_by: stage, stages }) {
  const { node, body } = table("Stages", COLUMNS);
  fill(body, ...stages.map((each) => row(COLUMNS, [
    el("div", {}, el("strong", {}, visible(each.stage))), badge(...VERDICTS[each.verdict] ?? [each.verdict]), each.reason ? el("div", {}, visible(each.reason)) : "",
  ])));
  const words = allowed ? badge("allowed", "good") : badge(`denied by ${stage}`, "bad");
  return [el("p", { class: "verdict" }, words), node];
}
