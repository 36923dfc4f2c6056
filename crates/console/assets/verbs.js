// What a person can do with a request and its units.

import { post } from "./api.js";
import { confirm, formDialog } from "./dialog.js";
import { el, field, select, visible } from "./dom.js";
import { complain, say } from "./notices.js";
import { isOpen, KINDS, REQUEST_SCOPES, traceAddress } from "./words.js";

/** The buttons for what a person can do now. */
export function verbsFor(view, refresh) {
  const button = (words, tone, act) => el("button", { type: "button", class: tone, onclick: act }, words);
  const isEarly = ["intake", "context", "planning"].includes(view.phase);
  return [
    isOpen(view.status) && isEarly ? button("Change kind, scope or workflow", "", () => override(view, refresh)) : null,
    isOpen(view.status) && !view.paused_at ? button("Pause", "", () => steer(view, "pause", "The request is paused.", refresh)) : null,
    isOpen(view.status) && view.paused_at ? button("Resume", "main", () => steer(view, "resume", "The request goes on.", refresh)) : null,
    isOpen(view.status) ? button("Cancel the request", "danger", () => cancel(view, refresh)) : null,
    isOpen(view.status) ? null
      : el("a", { class: "button", href: `#/requests/new?from=${encodeURIComponent(view.id)}` }, view.settings.dry_run ? "Submit it for real" : "Submit it again"),
    el("a", { class: "button", href: traceAddress(view.id) }, "Trace"),
  ];
}

/** The buttons for a unit: a person takes over the work of an agent, and hands it back. */
export function unitVerbs(view, unit, refresh) {
  if (!isOpen(view.status) || ["review", "test"].includes(unit.kind)) return [];
  const button = (words, verb, act) => el("button", { type: "button", class: "quiet", "data-verb": verb, onclick: act }, words);
  if (view.taken_over?.[unit.id]) return [button("Hand back", "hand-back", () => handBack(view, unit, refresh))];
  if (!["assigned", "in_progress", "revision_requested"].includes(unit.status)) return [];
  const words = "Its agent is stopped. No other one starts until you hand the unit back.";
  const act = async () => {
    await post(`${address(view)}/take-over`, { unit: unit.id });
    say(`${unit.id} is yours.`);
    refresh();
  };
  return [button("Take over", "take-over", () => confirm(`Take over ${visible(unit.id)}?`, words, "Take over", act))];
}

const address = (view) => `/v1/requests/${encodeURIComponent(view.id)}`;

async function steer(view, verb, words, refresh) {
  try {
    await post(`${address(view)}/${verb}`);
    say(words);
    await refresh();
  } catch (error) {
    complain(error);
  }
}

function handBack(view, unit, refresh) {
  const task = el("input", { name: "task", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const comment = el("textarea", { name: "comment", rows: "3" });
  formDialog(`Hand back ${visible(unit.id)}`, [
    field("Your task", task, "The completed task on the same repository whose changes are the result, by name. If empty, an agent goes on."),
    field("What the agent should know", comment)], "Hand back", async () => {
    await post(`${address(view)}/hand-back`, { unit: unit.id, task: task.value.trim() || undefined, comment: comment.value.trim() || undefined });
    say(`${unit.id} is handed back.`);
    refresh();
  });
}

function cancel(view, refresh) {
  const words = "Its agents are stopped, and nothing more is pushed. What was done so far stays readable.";
  confirm(`Cancel ${visible(view.name)}?`, words, "Cancel the request", async () => {
    await post(`/v1/tasks/${encodeURIComponent(view.id)}/cancel`);
    say(`${view.name} is canceled.`);
    await refresh();
  }, "Keep it");
}

function override(view, refresh) {
  const unchanged = (decided) => ["", decided ? `As decided: ${decided.value}` : "Let it be decided"];
  const kind = select({ name: "kind" }, [unchanged(view.kind), ...KINDS]);
  const scope = select({ name: "scope" }, [unchanged(view.scope), ...REQUEST_SCOPES]);
  const workflow = el("input", { name: "workflow", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const reason = el("textarea", { name: "reason", rows: "2", maxlength: "1000" });
  formDialog("Change kind, scope or workflow", [field("Kind", kind), field("Scope", scope, "Kind and scope choose the units of the plan."),
    field("Workflow", workflow, "The units yourself, such as: implementation, review, test. If empty, kind and scope choose them."),
    field("Why", reason)], "Decide", async () => {
    const units = workflow.value.split(",").map((name) => name.trim()).filter(Boolean);
    if (!kind.value && !scope.value && !units.length) return;
    await post(`${address(view)}/override`, { kind: kind.value || undefined, scope: scope.value || undefined,
      workflow: units.length ? units : undefined, reason: reason.value.trim() || undefined });
    say("Your decision is recorded.");
    await refresh();
  });
}
