// The board: the units of a request in columns by their status.

import { el, fill, visible } from "./dom.js";
import { worker } from "./plan.js";
import { plain, requestAddress, statusBadge } from "./words.js";

export const title = "Board";

const COLUMNS = [
  ["To do", ["pending", "assigned"]],
  ["Working", ["in_progress", "revision_requested"]],
  ["In review", ["submitted", "approved", "routed"]],
  ["Stopped", ["blocked", "failed"]],
  ["Done", ["completed"]],
];
/** How many units a column shows before a person asks for more. */
const FIRST_UNITS = 50;

export function create({ view }) {
  const node = el("div", { class: "board" });
  const all = new Set();
  const draw = (now) => fill(node, COLUMNS.map(([name, statuses]) => column(name, now, statuses)));
  const column = (name, now, statuses) => {
    const units = now.units.filter((unit) => statuses.includes(unit.status));
    const shown = all.has(name) ? units : units.slice(0, FIRST_UNITS);
    const more = units.length > shown.length
      ? el("button", { type: "button", onclick: () => draw(now, all.add(name)) }, `Show ${units.length - shown.length} more`) : null;
    const part = el("section", { class: "column", "aria-label": name },
      el("h2", {}, name, " ", el("span", { class: "soft" }, String(units.length))), shown.map((unit) => card(now, unit)), more);
    part.dataset.column = name;
    return part;
  };
  draw(view);
  return { node, update: draw };
}

function card(view, unit) {
  const newest = unit.attempts.at(-1);
  const after = unit.depends_on.length ? el("p", { class: "soft" }, `after ${unit.depends_on.map(visible).join(", ")}`) : null;
  const attempts = `${unit.attempts.length} ${unit.attempts.length === 1 ? "attempt" : "attempts"}`;
  const rounds = unit.revision_count ? `, sent back ${unit.revision_count}×` : "";
  const node = el("article", { class: "card" },
    el("div", { class: "card-head" }, el("strong", { class: "mono" }, visible(unit.id)), statusBadge(unit.status)),
    el("p", { class: "soft" }, `${plain(unit.kind)} · ${worker(view, unit)}`),
    after,
    newest
      ? el("p", {}, el("a", { href: `${requestAddress(view.id, "logs")}?task=${encodeURIComponent(newest.task_id)}` }, `${attempts}${rounds}`))
      : null,
    unit.notes ? el("p", { class: "about" }, visible(unit.notes)) : null);
  node.dataset.unit = unit.id;
  return node;
}
