// The form that creates a schedule, or changes one.

import { get, patch, post } from "./api.js";
import { el, field, fill, select, visible } from "./dom.js";
import { reasons, say } from "./notices.js";
import { projectChoice } from "./project-choice.js";
import { intervalOf } from "./schedules.js";
import { boundFields, numberInput, plainInput, revealInvalid, workFields } from "./task-fields.js";
import { scheduleAddress } from "./words.js";

const KINDS = ["commands", "script", "manager", "request"];
const TIMINGS = [["cron", "At times of a cron expression"], ["every", "At an interval"], ["at", "Once"]];
const UNITS = [["min", "minutes"], ["h", "hours"], ["d", "days"], ["s", "seconds"]];
const SECONDS = { s: 1, min: 60, h: 3600, d: 86_400 };
const MISSED = [["once", "The latest missed time fires once"], ["skip", "Missed times do not fire"]];
const OVERLAP = [["skip", "The time is skipped"], ["allow", "The time fires anyway"]];

export async function render({ id, me, query }) {
  const address = id ? `/v1/schedules/${encodeURIComponent(id)}` : "/v1/schedules";
  const old = id ? await get(address) : null;
  const heading = old ? `Change ${visible(old.name)}` : "New schedule";
  document.title = `${heading} · CyNode`;
  const project = old ? null : await projectChoice({ me, none: "Your default project", chosen: query.get("project") ?? "", onlyActive: true, attributes: { name: "project" } });
  const name = plainInput({ name: "schedule_name", required: true, maxlength: "200" }, old?.name);
  const timing = timingFields(old);
  const work = payloadFields(old);
  const missed = select({ name: "if_missed" }, MISSED, old?.if_missed ?? "once");
  const overlap = select({ name: "overlap" }, OVERLAP, old?.overlap ?? "skip");
  const paused = el("input", { type: "checkbox", name: "paused" });
  // As the controls have it: what a person leaves alone is not sent.
  const before = { timing: JSON.stringify(timing.value()), payload: JSON.stringify(work.value()) };

  const created = () => ({
    name: name.value.trim(), project: project.node.value || undefined, ...timing.value(), ...work.value(), enabled: !paused.checked,
    if_missed: missed.value, overlap: overlap.value,
  });
  const changed = () => ({
    name: name.value.trim() === old.name ? undefined : name.value.trim(),
    ...(JSON.stringify(timing.value()) === before.timing ? {} : timing.value()),
    ...(JSON.stringify(work.value()) === before.payload ? {} : work.value()),
    if_missed: missed.value === old.if_missed ? undefined : missed.value, overlap: overlap.value === old.overlap ? undefined : overlap.value,
  });
  const trouble = el("div", { role: "alert", class: "trouble" });
  const save = el("button", { type: "submit", class: "main", name: "save" }, old ? "Save" : "Create");
  const form = el("form", { class: "submission" },
    el("div", { class: "row" }, field("Name", name), project ? field("Project", project.node) : null),
    ...timing.nodes, ...work.nodes,
    el("div", { class: "row" }, field("After downtime", missed), field("While earlier work is open", overlap)),
    old ? null : el("label", { class: "check" }, paused, "Create it paused"),
    trouble, el("div", { class: "actions" }, save));
  revealInvalid(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    fill(trouble);
    try {
      const made = old ? await patch(address, changed()) : await post(address, created());
      say(`${made.name} is ${old ? "changed" : "created"}.`);
      location.hash = scheduleAddress(made.id);
    } catch (error) {
      save.disabled = false;
      fill(trouble, ...reasons(error));
    }
  });
  return el("section", { class: "narrow" },
    el("p", { class: "crumb" }, old ? el("a", { href: scheduleAddress(id) }, visible(old.name)) : el("a", { href: "#/tasks/schedules" }, "Schedules")),
    el("h1", { tabindex: "-1" }, heading), form);
}

/** When the schedule is due. */
function timingFields(old) {
  const kind = select({ name: "timing" }, TIMINGS, old?.every_s ? "every" : old?.at ? "at" : "cron");
  const cron = plainInput({ name: "cron", placeholder: "0 3 * * *" }, old?.cron);
  const [count, unit] = old?.every_s ? intervalOf(old.every_s) : ["", "h"];
  const every = numberInput({ name: "every", min: "1" }, count);
  const units = select({ name: "unit", "aria-label": "Unit of the interval" }, UNITS, unit);
  const at = el("input", { type: "datetime-local", name: "at" });
  at.value = old?.at ? localTime(old.at, old.time_zone) : "";
  const zone = plainInput({ name: "time_zone", required: true }, old?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC");
  const fields = {
    cron: field("Cron expression", cron, "Minute, hour, day of the month, month, day of the week."),
    every: el("div", { class: "row" }, field("Every", every, "At least a minute."), field("Unit", units)),
    at: field("At", at),
  };
  const zoneField = field("Time zone", zone, "Such as UTC or Europe/Berlin.");
  const controls = { cron, every, at };
  const show = () => {
    for (const name of Object.keys(fields)) {
      fields[name].hidden = name !== kind.value;
      controls[name].required = name === kind.value;
    }
  };
  kind.addEventListener("change", show);
  show();
  return {
    nodes: [field("Due", kind), fields.cron, fields.every, fields.at, zoneField],
    value: () => ({
      cron: kind.value === "cron" ? cron.value.trim() : undefined,
      every_s: kind.value === "every" ? Math.round(Number(every.value) * SECONDS[units.value]) : undefined,
      at: kind.value === "at" ? at.value.replace("T", " ") : undefined,
      time_zone: zone.value.trim(),
    }),
  };
}

/** A moment as the clock of a time zone shows it; empty if the browser does not know the zone. */
function localTime(moment, zone) {
  try {
    const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
    return format.format(new Date(moment)).replace(" ", "T");
  } catch {
    return "";
  }
}

/** What the schedule does. */
function payloadFields(old) {
  const { task, request } = old ?? {};
  const kind = request ? "request" : old?.prompt ? "manager" : task?.input_mode === "script" ? "script" : "commands";
  const url = plainInput({ name: "url", placeholder: "git@forge.internal:team/site.git or /srv/git/site" }, request?.repository?.url);
  const base = plainInput({ name: "base" }, request?.repository?.base_branch ?? request?.project_repository?.base_branch);
  const repository = el("div", { class: "row" }, field("Repository", url, "That of the project if empty."), field("Base branch", base, "The default branch if empty."));
  const bounds = boundFields(task ?? {});
  const ofTask = el("div", {}, bounds.nodes);
  const text = request?.text ?? old?.prompt ?? (task ? task.commands.join("\n") || task.prompt : "");
  const work = workFields(KINDS, { kind, text }, (chosen) => {
    repository.hidden = chosen !== "request";
    ofTask.hidden = !["commands", "script"].includes(chosen);
  });
  work.show();
  return {
    nodes: [...work.nodes, repository, ofTask],
    value: () => {
      if (work.kind() === "manager") return { prompt: work.text() };
      // What the form does not show stays as it was.
      if (work.kind() !== "request") return { task: { ...task, ...work.task(), ...bounds.value() } };
      const branch = base.value.trim() || undefined;
      const where = url.value.trim() ? { repository: { ...request?.repository, url: url.value.trim(), base_branch: branch }, project_repository: undefined }
        : { repository: undefined, project_repository: { ...request?.project_repository, base_branch: branch } };
      return { request: { ...request, text: work.text(), ...where } };
    },
  };
}
