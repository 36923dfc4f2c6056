// One schedule: when it is due, what it does, its runs, and what a person can do with it.

import { get, patch, post, remove } from "./api.js";
import { confirm } from "./dialog.js";
import { badge, drawVerbs, el, facts, fill, KeyedList, moment, nothing, row, table, visible } from "./dom.js";
import { repeat } from "./live.js";
import { complain, say } from "./notices.js";
import { paged } from "./pager.js";
import * as form from "./schedule-form.js";
import { localWords, nextWords, timingWords } from "./schedules.js";
import { projectAddress, scheduleAddress, statusBadge, taskAddress } from "./words.js";

const COLUMNS = ["Due", "Started by", "Status", "Tasks", "Summary"];
const MISSED = { once: "the latest missed time fires once", skip: "missed times do not fire" };
const OVERLAP = { skip: "a time is skipped while earlier work is open", allow: "a time fires also while earlier work is open" };
/** How many runs a page has, and how often it reads again. */
const [PAGE, EVERY_MS] = [50, 5000];

export async function render(context) {
  const { path: [id, verb], me, signal } = context;
  if (id === "new" || verb === "edit") return form.render({ ...context, id: id === "new" ? null : id });
  const address = `/v1/schedules/${encodeURIComponent(id)}`;
  let [schedule, shown] = [await get(address), null];
  const project = await get(`/v1/projects/${encodeURIComponent(schedule.project_id)}`).catch(() => null);
  document.title = `${visible(schedule.name)} · CyNode`;
  const heading = el("h1", { tabindex: "-1" });
  const state = el("p", { class: "state" });
  const verbs = el("div", { class: "verbs" });
  const about = el("div");
  const stale = el("p", { class: "stale", role: "status" });
  const draw = () => {
    const content = JSON.stringify(schedule);
    if (content === shown) return;
    shown = content;
    fill(heading, visible(schedule.name));
    fill(state, statusBadge(schedule.state), project ? [el("span", { class: "soft" }, " in "), el("a", { href: projectAddress(project.id) }, visible(project.display_name))] : null,
      schedule.owner_id === me.id ? null : el("span", { class: "soft", title: schedule.owner_id }, ` · owner: user ${schedule.owner_id.slice(-12)}`));
    drawVerbs(verbs, [schedule.enabled, schedule.state, schedule.name], () => buttons(schedule, address, refreshLoudly));
    fill(about, timing(schedule), payload(schedule));
  };
  const runs = runList(address, signal);
  await runs.read();
  draw();
  const refresh = async () => {
    const newer = await get(address);
    if (signal.aborted) return;
    schedule = newer;
    draw();
    await runs.read();
    fill(stale);
  };
  async function refreshLoudly() {
    await refresh().catch(complain);
  }
  repeat(() => refresh().catch((error) => fill(stale, visible(error.message))), EVERY_MS, signal).catch(complain);
  return el("section", {},
    el("p", { class: "crumb" }, el("a", { href: "#/tasks/schedules" }, "Schedules")),
    el("div", { class: "head" }, heading, verbs), state, stale, about,
    el("section", { class: "part" }, el("h2", {}, "Runs"), ...runs.nodes));
}

function buttons(schedule, address, refresh) {
  const button = (words, verb, tone, act) => el("button", { type: "button", class: tone, "data-verb": verb, onclick: act }, words);
  const act = async (change, words) => {
    try {
      await change();
      say(words);
      await refresh();
    } catch (error) {
      complain(error);
    }
  };
  const drop = () => confirm(`Delete ${visible(schedule.name)}?`, "Its runs are deleted too. The tasks that it created stay.", "Delete", async () => {
    await remove(address);
    say(`${schedule.name} is deleted.`);
    location.hash = "#/tasks/schedules";
  }, "Keep it");
  return [
    el("a", { class: "button", href: `${scheduleAddress(schedule.id)}/edit` }, "Edit"),
    schedule.enabled ? button("Pause", "pause", "", () => act(() => patch(address, { enabled: false }), `${schedule.name} is paused.`))
      : button("Resume", "resume", "", () => act(() => patch(address, { enabled: true }), `${schedule.name} is resumed.`)),
    button("Fire now", "fire", "", () => act(() => post(`${address}/fire`), `${schedule.name} is fired; its next due time does not change.`)),
    schedule.state === "active" ? button("Skip the next time", "skip", "", () => act(() => post(`${address}/skip-next`), "The next due time is skipped.")) : null,
    button("Delete", "delete", "danger", drop),
  ];
}

const section = (heading, ...content) => el("section", { class: "part" }, el("h2", {}, heading), ...content);

function timing(schedule) {
  const ahead = schedule.last_run && new Date(schedule.last_run.due_at) > new Date() ? schedule.last_run : null;
  return section("When", facts([
    ["Due", visible(timingWords(schedule))], ["At", schedule.at ? moment(schedule.at) : null], ["Next", nextWords(schedule)],
    ["Skips", ahead ? `up to ${localWords(ahead.due_local)}: ${visible(ahead.summary)}` : null],
    ["After downtime", MISSED[schedule.if_missed]], ["Overlap", OVERLAP[schedule.overlap]],
    ["Created", moment(schedule.created_at)], ["Last change", moment(schedule.updated_at)], ["Id", el("code", {}, schedule.id)],
  ]));
}

function payload({ prompt, task, request }) {
  if (request) {
    return section("Submits a request", el("p", { class: "prose asked" }, visible(request.text)), facts([
      ["Repository", request.repository ? el("code", {}, visible(request.repository.url)) : "that of the project"],
      ["Base branch", request.repository?.base_branch ?? request.project_repository?.base_branch ? visible(request.repository?.base_branch ?? request.project_repository.base_branch) : null],
    ]));
  }
  if (!task) return section("Asks the project manager", el("p", { class: "prose asked" }, visible(prompt ?? "")));
  return section("Creates a task",
    task.commands.length ? el("ol", { class: "mono asked commands" }, task.commands.map((line) => el("li", {}, visible(line)))) : el("p", { class: "prose mono asked" }, visible(task.prompt)),
    facts([
      ["Worker node", task.node ? visible(task.node) : null], ["Image", task.image ? visible(task.image) : null],
      ["Seconds of each step", task.limits.timeout_s.toLocaleString("en")], ["Approval", task.approve_plan ? "a person approves the plan" : null],
    ]));
}

/** The runs of a schedule, one page at a time. */
function runList(address, signal) {
  const { node, body } = table("Runs, newest first", COLUMNS);
  const empty = nothing("");
  const rows = new KeyedList(body, (run) => run.id, line);
  const load = (cursor) => {
    const wanted = new URLSearchParams({ limit: PAGE });
    if (cursor) wanted.set("cursor", cursor);
    return get(`${address}/runs?${wanted}`);
  };
  const draw = (items) => {
    rows.draw(items);
    node.hidden = items.length === 0;
    fill(empty, items.length ? null : "It has not been due yet.");
  };
  const pages = paged({ load, draw, signal });
  return { nodes: [node, empty, pages.node], read: pages.read };
}

function line(run) {
  const tasks = run.tasks.map((task) => el("li", {}, el("a", { href: taskAddress(task.id) }, visible(task.name)), " ", statusBadge(task.status)));
  const node = row(COLUMNS, [
    el("span", { title: run.due_at }, localWords(run.due_local)), run.manual ? badge("a person") : "the schedule", statusBadge(run.status),
    tasks.length ? el("div", {}, el("ul", { class: "plain" }, tasks)) : "",
    run.summary ? el("div", {}, el("span", { class: "about" }, visible(run.summary))) : "",
  ]);
  node.dataset.run = run.id;
  node.dataset.status = run.status;
  return node;
}
