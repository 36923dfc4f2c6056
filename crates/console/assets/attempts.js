// The attempts of a request: child tasks, by unit and step.

import { select, visible } from "./dom.js";
import { plain } from "./words.js";

const LISTS = ["answers", "notes", "requirements", "steps", "test_commands", "units"];

/** A request as the API returns it, with the lists that it leaves out because they are empty. */
export function withLists(view) {
  const missing = Object.fromEntries(LISTS.filter((name) => !view[name]).map((name) => [name, []]));
  const whole = { ...view, ...missing };
  whole.units = whole.units.map((unit) => ({ ...unit, depends_on: unit.depends_on ?? [] }));
  return whole;
}

/** Every attempt at the units and other steps of a request, in the order of the plan. */
export const listAttempts = (view) => [...view.units.flatMap((unit) => unit.attempts), ...view.steps];

/** The child task whose changes are the newest state of the request. */
export function newestChanges(view) {
  const merged = view.steps.filter((step) => step.unit === "integrate" && step.status === "completed").at(-1);
  const work = view.units.filter((unit) => !["review", "test"].includes(unit.kind)).flatMap((unit) => unit.attempts);
  const newest = work.reduce((best, each) => (best && best.task_id > each.task_id ? best : each), null);
  return (merged ?? newest)?.task_id ?? null;
}

/** A choice of an attempt; `extra` is an option before them. */
export function attemptChoice(label, attempts, chosen, extra = []) {
  const option = (attempt) => [attempt.task_id, `${visible(attempt.unit)}, attempt ${attempt.number}: ${plain(attempt.status)}`];
  const node = select({ "aria-label": label }, [...extra, ...attempts.map(option)]);
  if ([...node.options].some(({ value }) => value === chosen)) node.value = chosen;
  return node;
}

/** Replaces the options of a choice and keeps what is chosen. */
export function updateChoice(node, attempts, extra = []) {
  const fresh = attemptChoice("", attempts, node.value, extra);
  const texts = (choice) => [...choice.options].map(({ value, text }) => `${value} ${text}`).join("\n");
  if (texts(fresh) === texts(node)) return;
  const { value } = node;
  node.replaceChildren(...fresh.options);
  node.value = [...node.options].some((option) => option.value === value) ? value : node.options[0]?.value ?? "";
}
