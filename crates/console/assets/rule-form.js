// The form that creates an access rule.

import { post } from "./api.js";
import { formDialog } from "./dialog.js";
import { el, field, select } from "./dom.js";
import { CALLERS } from "./explain.js";
import { say } from "./notices.js";
import { subjectId } from "./subject-id.js";

export const EFFECTS = [["allow", "Allow"], ["deny", "Deny"]];
/** Each action with the type of its resource, and what its pattern looks like. */
export const ACTIONS = [
  ["mcp.tool.invoke", "Call a tool", undefined, "db.*"], ["api.call", "Call a model provider", "api.provider_operation", "anthropic/*"],
  ["git.clone", "Clone a repository", "git.repository", "github.com/team/*"], ["git.push", "Push to a repository", "git.repository", "github.com/team/*"],
  ["forge.pull_request.open", "Open a pull request", "forge.repository", "github.com/team/*"],
];
const SUBJECTS = [["system", "Everyone"], ["agent", "Agents of a type"], ["user", "A user"], ["group", "A group"], ["project", "A project"], ["task", "A task"]];
const AGENTS = CALLERS.filter(([caller]) => caller !== "user");

/** Opens the form; `refresh` is called after the change. */
export function createRule(refresh) {
  const input = (attributes) => el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
  const effect = select({ name: "effect" }, EFFECTS, "allow");
  const action = select({ name: "action" }, ACTIONS, "mcp.tool.invoke");
  const pattern = input({ name: "resource_pattern", required: true });
  const subject = select({ name: "subject_type" }, SUBJECTS, "system");
  const agent = select({ name: "agent" }, AGENTS, "pm");
  const named = input({ name: "subject" });
  const server = input({ name: "server" });
  const priority = el("input", { type: "number", name: "priority", step: "1", value: "0" });
  const callers = CALLERS.map(([value, words]) => {
    const box = el("input", { type: "checkbox", name: "callers", value });
    return { box, node: el("label", { class: "check" }, box, words) };
  });
  const [agentField, namedField] = [field("Type", agent), field("Which one", named, "By name or id.")];
  const serverField = field("Server (optional)", server, "Only its tools, by name or id. If empty, a rule that allows is about the server that the pattern begins with.");
  const show = () => {
    [agentField.hidden, namedField.hidden] = [subject.value !== "agent", ["system", "agent"].includes(subject.value)];
    named.required = !namedField.hidden;
    serverField.hidden = action.value !== "mcp.tool.invoke";
    pattern.placeholder = ACTIONS.find(([name]) => name === action.value)[3];
  };
  for (const control of [action, subject]) control.addEventListener("change", show);
  show();
  formDialog("New rule", [
    field("Effect", effect), field("What", action), field("Resource", pattern, "A * stands for any text."),
    field("For", subject), agentField, namedField,
    el("fieldset", {}, el("legend", {}, "Only for these callers"), callers.map(({ node }) => node), el("span", { class: "hint" }, "Without any, for all.")),
    el("details", {}, el("summary", {}, "More"), serverField, field("Priority", priority, "Of several matching rules, the one with the highest priority is named as the reason.")),
  ], "Create", async () => {
    const id = namedField.hidden ? { agent: agent.value }[subject.value] : await subjectId(subject.value, named.value.trim());
    await post("/v1/rules", {
      subject_type: subject.value, subject_id: id, action: action.value, resource_type: ACTIONS.find(([name]) => name === action.value)[2],
      resource_pattern: pattern.value.trim(), effect: effect.value, priority: Number(priority.value),
      server: (!serverField.hidden && server.value.trim()) || undefined,
      conditions: { callers: callers.filter(({ box }) => box.checked).map(({ box }) => box.value) },
    });
    say(`The rule about ${pattern.value.trim()} is in force.`);
    await refresh();
  });
}
