// Requests: the list with its filters, and the pages below it.

import { get } from "./api.js";
import { el, fill, row, select, table, visible } from "./dom.js";
import { repeat } from "./live.js";
import { complain } from "./notices.js";
import { paged } from "./pager.js";
import * as request from "./request.js";
import * as submit from "./submit.js";
import { age, PHASES, requestAddress, statusBadge, wordsFor } from "./words.js";

export const title = "Requests";

const COLUMNS = ["Request", "Owner", "Status", "Phase", "Units done", "Submitted"];
const STATES = [
  ["", "All states"], ["open", "Open"], ["waiting", "Waits for a person"], ["running", "Running"],
  ["completed", "Completed"], ["failed", "Failed"], ["canceled", "Canceled"],
];
/** How many rows a page has, and how often it reads again. */
const [PAGE, EVERY_MS] = [50, 5000];

export function render(context) {
  const [name] = context.path;
  if (name === "new") return submit.render(context);
  return name ? request.render(context) : list(context);
}

async function list({ me, query, signal }) {
  const search = el("input", { type: "search", placeholder: "Search name or text", "aria-label": "Search requests", maxlength: "200" });
  search.value = query.get("text") ?? "";
  const state = select({ "aria-label": "Status" }, STATES, query.get("state") ?? "");
  const phase = select({ "aria-label": "Phase" }, [["", "All phases"], ...PHASES], query.get("phase") ?? "");
  const whose = select({ "aria-label": "Owner" }, [["", "All owners"], ["mine", "Mine"]], query.get("whose") ?? "");
  const apply = el("button", { type: "submit" }, "Show");
  const filters = el("form", { class: "toolbar", role: "search" }, search, state, phase, whose, apply);
  const shown = requestTable("Requests, newest first", me);
  const nothing = el("p", { class: "nothing" });
  const stale = el("p", { class: "stale", role: "status" });

  const wanted = (cursor) => {
    const filter = new URLSearchParams({ limit: PAGE });
    if (search.value.trim()) filter.set("text", search.value.trim());
    if (state.value === "open") filter.set("open", "true");
    else if (state.value) filter.set("status", state.value);
    if (phase.value) filter.set("phase", phase.value);
    if (whose.value) filter.set("mine", "true");
    if (cursor) filter.set("cursor", cursor);
    return filter;
  };
  const draw = (items) => {
    shown.draw(items);
    shown.node.hidden = items.length === 0;
    const hasFilter = search.value.trim() || state.value || phase.value || whose.value;
    fill(nothing, items.length ? null : hasFilter ? "No request matches." : "There are no requests yet.");
    fill(stale);
  };
  const pages = paged({ load: (cursor) => get(`/v1/requests?${wanted(cursor)}`), draw, signal });
  const filter = (event) => {
    event.preventDefault();
    const address = new URLSearchParams();
    for (const [name, control] of [["text", search], ["state", state], ["phase", phase], ["whose", whose]]) {
      if (control.value.trim()) address.set(name, control.value.trim());
    }
    // The address has the filters, without a second entry in the history for each of them.
    history.replaceState(null, "", `#/requests${address.size ? `?${address}` : ""}`);
    pages.restart();
  };
  filters.addEventListener("submit", filter);
  for (const control of [state, phase, whose]) control.addEventListener("change", filter);
  await pages.read();
  const again = () => pages.read().catch((error) => fill(stale, visible(error.message)));
  repeat(again, EVERY_MS, signal).catch(complain);
  return el("section", {},
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title), el("a", { class: "button main", href: "#/requests/new" }, "New request")),
    filters, stale, shown.node, nothing, pages.node);
}

/** A table of requests; `draw` shows others in it. */
export function requestTable(caption, me) {
  const { node, body } = table(caption, COLUMNS);
  let present = null;
  const draw = (items) => {
    const content = JSON.stringify(items);
    if (content === present) return;
    present = content;
    fill(body, ...items.map((item) => line(item, me)));
  };
  return { node, draw };
}

function line(item, me) {
  const first = item.text.split("\n").find((text) => text.trim()) ?? "";
  const node = row(COLUMNS, [
    el("div", {}, el("a", { href: requestAddress(item.id) }, visible(item.name)), el("span", { class: "about" }, visible(first))),
    item.owner === me.handle ? "you" : visible(item.owner),
    statusBadge(item.status), wordsFor(PHASES, item.phase),
    el("progress", { max: "100", value: item.progress_percent, "aria-label": "Units done", title: `${item.progress_percent} %` }),
    el("span", { title: item.created_at }, age(item.created_at)),
  ]);
  node.dataset.request = item.id;
  return node;
}
