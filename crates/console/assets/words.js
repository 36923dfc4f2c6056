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
};

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

/** The address of the page of a trace; the trace of a request has the id of the request. */
export const traceAddress = (id) => `#/traces/${encodeURIComponent(id)}`;

/** The address of the page of a skill, or of one of its parts. */
export const skillAddress = (id, part = "") => `#/skills/${encodeURIComponent(id)}${part ? `/${part}` : ""}`;

/** The address of the page of a project, or of one of its parts. */
export const projectAddress = (id, part = "") => `#/projects/${encodeURIComponent(id)}${part ? `/${part}` : ""}`;

/** How long something took. */
export function took(ms) {
  if (ms < 10_000) return `${ms.toLocaleString("en")} ms`;
  const seconds = Math.floor(ms / 100) / 10;
  return seconds < 600 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60).toLocaleString("en")} min`;
}

/** Whether a task or request goes on. */
export const isOpen = (status) => ["queued", "running", "waiting"].includes(status);
