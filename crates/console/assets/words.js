// The words of requests, units and tasks, as people read them.

import { badge } from "./dom.js";

export const KINDS = [["new_project", "New project"], ["feature_request", "Feature"], ["quick_fix", "Quick fix"]];
export const REQUEST_SCOPES = [
  ["trivial", "Trivial: one line"], ["small", "Small: one file"], ["medium", "Medium: one component"],
  ["large", "Large: several components"],
];
export const PHASES = [
  ["intake", "Intake"], ["context", "Reading the project"], ["planning", "Planning"], ["working", "Working"],
  ["delivering", "Delivering"], ["in_review", "In review"], ["ended", "Ended"],
];

const TONES = {
  completed: "good", approved: "good", routed: "good", verified: "good",
  failed: "bad", blocked: "bad", canceled: "bad", unverified: "warn",
  waiting: "warn", revision_requested: "warn", changes_requested: "warn",
  needs_answer: "warn", pausing: "warn", paused: "warn", skipped: "warn", not_judged: "warn",
  active: "good", done: "good", met: "good", not_met: "bad", lease_expired: "bad",
};
export const TASK_STATES = [
  ["queued", "Queued"], ["running", "Running"], ["waiting", "Waits for a person"], ["completed", "Completed"], ["failed", "Failed"],
  ["canceled", "Canceled"], ["superseded", "Superseded"],
];
export const RUN_STATES = [
  ["queued", "Queued"], ["waiting", "Waits for other tasks"], ["running", "Running"], ["pausing", "Pausing"], ["paused", "Paused"],
  ["needs_answer", "Waits for a person"], ["completed", "Completed"], ["failed", "Failed"], ["canceled", "Canceled"],
];

/** A name of the API in words: `in_progress` is “in progress”. */
export const plain = (name) => String(name).replaceAll("_", " ");

/** The words for a value of a list of pairs. */
export const wordsFor = (pairs, value) => pairs.find(([name]) => name === value)?.[1] ?? plain(value);

/** A status as a label. */
export const statusBadge = (status) => badge(plain(status), TONES[status] ?? "");

/** How long ago a moment is, such as “3 min”. */
export function age(text) {
  const seconds = Math.max(0, (Date.now() - new Date(text)) / 1000);
  if (seconds < 60) return "just now";
  const [size, unit] = seconds < 3600 ? [60, "min"] : seconds < 86_400 ? [3600, "h"] : [86_400, "d"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

/** The address of the page of a request, or of one of its parts. */
export const requestAddress = (id, part = "") => `#/requests/${encodeURIComponent(id)}${part ? `/${part}` : ""}`;

/** The address of the page of a task, or of one of its parts. */
export const taskAddress = (id, part = "") => `#/tasks/${encodeURIComponent(id)}${part ? `/${part}` : ""}`;

/** The address of the page of a run, or of one of its parts. */
export const runAddress = (id, part = "") => `#/tasks/runs/${encodeURIComponent(id)}${part ? `/${part}` : ""}`;

/** The address of the page of a schedule. */
export const scheduleAddress = (id) => `#/tasks/schedules/${encodeURIComponent(id)}`;

/** The address of the page of a trace; the trace of a request has the id of the request. */
export const traceAddress = (id) => `#/traces/${encodeURIComponent(id)}`;

/** The address of the page of a skill, or of one of its parts. */
export const skillAddress = (id, part = "") => `#/skills/${encodeURIComponent(id)}${part ? `/${part}` : ""}`;

/** The address of the page of a project, or of one of its parts. */
export const projectAddress = (id, part = "") => `#/projects/${encodeURIComponent(id)}${part ? `/${part}` : ""}`;

/** How a job ended. */
export function endingWords({ kind, code, limit, reason }) {
  const words = { exited: `exited with code ${code}`, limit_reached: `reached a limit: ${limit}`, interrupted: `was interrupted: ${reason}`, not_started: `did not start: ${reason}` };
  return words[kind] ?? plain(kind);
}

/** A size in bytes, such as “4.0 KiB”. */
export function bytes(count) {
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let [size, unit] = [count, "B"];
  while (size >= 1024 && units.length) [size, unit] = [size / 1024, units.shift()];
  return unit === "B" ? `${count} B` : `${size.toFixed(1)} ${unit}`;
}

/** How long something took. */
export function took(ms) {
  if (ms < 10_000) return `${ms.toLocaleString("en")} ms`;
  const seconds = Math.floor(ms / 100) / 10;
  return seconds < 600 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60).toLocaleString("en")} min`;
}

/** Whether a task or request goes on. */
export const isOpen = (status) => ["queued", "running", "waiting"].includes(status);
