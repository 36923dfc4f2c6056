// The logs of each attempt: the output of its commands and the transcript of its agent.

import { get } from "./api.js";
import { attemptChoice, listAttempts, updateChoice } from "./attempts.js";
import { el, facts, fill, moment, nothing, visible } from "./dom.js";
import { repeat } from "./live.js";
import { complain, reasons } from "./notices.js";
import { isOpen, statusBadge, taskAddress } from "./words.js";

export const title = "Logs";

/** How often the log of a running attempt is read again, and how much of it is shown. */
const [EVERY_MS, MOST_CHARS] = [3000, 200_000];

export async function create({ view, query, signal }) {
  const choice = attemptChoice("Attempt", listAttempts(view), query.get("task") ?? listAttempts(view).at(-1)?.task_id);
  const place = el("div");
  let [now, shown, asked] = [view, null, 0];
  const attempt = () => listAttempts(now).find(({ task_id }) => task_id === choice.value);
  const load = async () => {
    const chosen = attempt();
    if (!chosen) return fill(place, nothing("No agent has started yet."));
    const ticket = ++asked;
    try {
      const path = `/v1/tasks/${encodeURIComponent(chosen.task_id)}`;
      const [task, output] = await Promise.all([get(path), get(`${path}/logs`)]);
      if (ticket !== asked || signal.aborted) return;
      const content = JSON.stringify([chosen, task, output]);
      if (content === shown) return;
      shown = content;
      fill(place, about(chosen, task), ...streams(output));
    } catch (error) {
      if (ticket === asked) fill(place, el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
  };
  choice.addEventListener("change", load);
  await load();
  repeat(async () => (isOpen(attempt()?.status) ? load() : null), EVERY_MS, signal).catch(complain);
  return {
    node: el("div", { class: "part" }, el("div", { class: "toolbar" }, choice), place),
    update: (newer) => {
      now = newer;
      updateChoice(choice, listAttempts(now));
      load();
    },
  };
}

function about(attempt, task) {
  return facts([
    ["Task", el("a", { href: taskAddress(task.id) }, visible(task.task_name))], ["Status", statusBadge(attempt.status)],
    ["Agent", task.input_mode === "agent" ? visible(task.agent ?? "built-in") : null], ["Node", task.node ? visible(task.node) : null],
    ["Started", moment(attempt.created_at)], ["Result", attempt.result ? el("span", { class: "prose" }, visible(attempt.result)) : null],
    ["Waits because", task.blocked_reason ? visible(task.blocked_reason) : null],
  ]);
}

/** The output of a task: its commands, and the transcript of its agent. */
export function streams({ stdout, stderr }) {
  const stream = (name, text) => {
    const cut = text.length > MOST_CHARS;
    const shown = cut ? text.slice(text.indexOf("\n", text.length - MOST_CHARS) + 1) : text;
    return [el("h3", {}, name), cut ? el("p", { class: "hint" }, "The beginning is left out; cynork task logs prints all of it.") : null,
      el("pre", { class: "log", tabindex: "0", "aria-label": name }, shown.split("\n").map(transcriptLine).join("\n"))];
  };
  if (!stdout && !stderr) return [nothing("There is no output yet.")];
  return [...(stdout ? stream("Output", stdout) : []), ...(stderr ? stream("Error output", stderr) : [])];
}

/** An entry of an agent's transcript as text; every other line stays as it is. */
function transcriptLine(line) {
  if (!line.startsWith("{")) return visible(line);
  let entry;
  try {
    entry = JSON.parse(line);
  } catch {
    return visible(line);
  }
  if (typeof entry.kind !== "string" || typeof entry.text !== "string") return visible(line);
  const mark = ["message", "thought", "output"].includes(entry.kind) ? "·" : entry.is_success ? "✓" : "✗";
  const parts = [entry.subject, entry.text].filter(Boolean).join(" → ");
  const detail = entry.detail ? `\n${entry.detail.split("\n").map((each) => `    ${each}`).join("\n")}` : "";
  return visible(`${mark} ${entry.kind}  ${parts}${detail}`);
}
