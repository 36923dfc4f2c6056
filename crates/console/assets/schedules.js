// The list of schedules.

import { get } from "./api.js";
import { el, fill, KeyedList, nothing, row, table, visible } from "./dom.js";
import { filterForm } from "./filters.js";
import { repeat } from "./live.js";
import { complain } from "./notices.js";
import { paged } from "./pager.js";
import { projectChoice } from "./project-choice.js";
import { plain, scheduleAddress, statusBadge } from "./words.js";

export const title = "Schedules";

const COLUMNS = ["Schedule", "State", "Due", "Next", "Newest run"];
/** How many rows a page has, and how often it reads again. */
const [PAGE, EVERY_MS] = [50, 5000];
const INTERVALS = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export async function create({ me, query, signal }) {
  const project = await projectChoice({ me, none: "All projects", chosen: query.get("project") ?? "" });
  const { node, body } = table("Schedules, newest first", COLUMNS);
  const empty = nothing("");
  const stale = el("p", { class: "stale", role: "status" });
  const filters = filterForm("#/tasks/schedules", { project: project.node }, () => pages.restart());
  const load = (cursor) => {
    const wanted = new URLSearchParams({ limit: PAGE, ...filters.values() });
    if (cursor) wanted.set("cursor", cursor);
    return get(`/v1/schedules?${wanted}`);
  };
  const rows = new KeyedList(body, (schedule) => schedule.id, line);
  const draw = (items) => {
    fill(stale);
    rows.draw(items);
    node.hidden = items.length === 0;
    fill(empty, items.length ? null : Object.keys(filters.values()).length ? "No schedule matches." : "There are no schedules yet.");
  };
  const pages = paged({ load, draw, signal });
  await pages.read();
  const again = () => pages.read().catch((error) => fill(stale, visible(error.message)));
  repeat(again, EVERY_MS, signal).catch(complain);
  return {
    action: el("a", { class: "button main", href: "#/tasks/schedules/new" }, "New schedule"),
    content: [filters.form, stale, node, empty, pages.node],
  };
}

function line(schedule) {
  const node = row(COLUMNS, [
    el("div", {}, el("a", { href: scheduleAddress(schedule.id) }, visible(schedule.name)), el("span", { class: "about" }, visible(payloadWords(schedule)))),
    statusBadge(schedule.state), visible(timingWords(schedule)), nextWords(schedule),
    schedule.last_run ? statusBadge(schedule.last_run.status) : "",
  ]);
  node.dataset.schedule = schedule.name;
  return node;
}

/** When a schedule is due. */
export function timingWords({ cron, every_s: seconds, at, time_zone: zone }) {
  if (cron) return `${cron} (${zone})`;
  if (seconds) return `every ${intervalOf(seconds).join(" ")}`;
  return at ? "once" : "";
}

/** An interval as a number and the largest unit that divides it. */
export function intervalOf(seconds) {
  const [size, unit] = INTERVALS.find(([size]) => seconds % size === 0);
  return [seconds / size, unit];
}

/** The next due time in the time zone of the schedule. */
export const nextWords = ({ next_due_local: local, time_zone: zone }) => (local ? `${localWords(local)} ${visible(zone)}` : "");

/** A local time to the minute. */
export const localWords = (local) => visible(local.slice(0, 16).replace("T", " "));

/** What a schedule does, on one line. */
function payloadWords({ prompt, task, request }) {
  if (request) return `Submits: ${request.text}`;
  if (prompt) return prompt;
  return task?.commands?.length ? task.commands.join("; ") : task ? plain(`a ${task.input_mode}`) : "";
}
