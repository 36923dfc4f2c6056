// The changes of a request: files and patch, of all units together or of one attempt.

import { get } from "./api.js";
import { attemptChoice, listAttempts, newestChanges, updateChoice } from "./attempts.js";
import { patchLines } from "./diff.js";
import { badge, el, fill, nothing, visible } from "./dom.js";
import { reasons } from "./notices.js";

export const title = "Changes";

const ALL = [["", "The whole request"]];
/** How many files are opened at once. */
const OPEN_FILES = 10;

export async function create({ view, query, signal }) {
  const place = el("div");
  const choice = attemptChoice("Changes of", listAttempts(view), query.get("task") ?? "", ALL);
  let [now, shown, asked] = [view, null, 0];
  const load = async () => {
    const task = choice.value || newestChanges(now);
    if (!task) return fill(place, nothing("Nothing is changed yet."));
    const ticket = ++asked;
    try {
      const diff = await get(`/v1/tasks/${encodeURIComponent(task)}/diff?all=${!choice.value}`);
      if (ticket !== asked || signal.aborted) return;
      const content = JSON.stringify(diff);
      if (content === shown) return;
      shown = content;
      fill(place, ...drawChanges(diff, "cynork pm diff"));
    } catch (error) {
      if (ticket !== asked) return;
      shown = null;
      fill(place, error.status === 404 ? nothing("Nothing is changed yet.") : el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
  };
  choice.addEventListener("change", load);
  await load();
  return {
    node: el("div", { class: "part" }, el("div", { class: "toolbar" }, choice), place),
    update: (newer) => {
      now = newer;
      updateChoice(choice, listAttempts(now), ALL);
      load();
    },
  };
}

/** Changes file by file; `command` is the command that prints all of them. */
export function drawChanges({ changes, patch, is_truncated }, command) {
  const tone = { block: "bad", review: "warn" };
  const finding = ({ severity, rule, path, message }) =>
    el("li", {}, badge(severity, tone[severity] ?? ""), ` ${visible(rule)}${path ? ` in ${visible(path)}` : ""}: ${visible(message)}`);
  const files = patch.split(/^(?=diff --git )/m).filter((part) => part.startsWith("diff --git "));
  return [
    el("p", { class: "soft" }, `${changes.files.length} ${changes.files.length === 1 ? "file" : "files"}, `, el("code", {}, visible(changes.branch))),
    changes.findings.length ? el("ul", {}, changes.findings.map(finding)) : null,
    is_truncated ? el("p", { class: "fault" }, `The patch is longer than 1 MiB; only its beginning is shown. ${command} prints all of it.`) : null,
    ...(files.length ? files.map((text, index) => file(text, index < OPEN_FILES, command)) : [nothing("No file is changed.")]),
  ];
}

/** The changes of one file; its lines are made when it is opened. */
function file(text, isOpen, command) {
  const lines = text.trimEnd().split("\n");
  const count = (mark, header) => lines.filter((line) => line.startsWith(mark) && !line.startsWith(header)).length;
  const start = lines.findIndex((line) => line.startsWith("@@"));
  const name = lines.find((line) => line.startsWith("+++ b/"))?.slice(6) ?? lines.find((line) => line.startsWith("--- a/"))?.slice(6)
    ?? lines[0].slice("diff --git ".length);
  const node = el("details", { class: "file" },
    el("summary", {}, el("span", { class: "mono" }, visible(name)), " ", el("span", { class: "soft" }, `+${count("+", "+++ ")} −${count("-", "--- ")}`)));
  node.dataset.file = name;
  node.addEventListener("toggle", () => {
    if (node.open && node.childElementCount === 1) node.append(patchLines(start < 0 ? lines : lines.slice(start), command));
  });
  node.open = isOpen;
  return node;
}
