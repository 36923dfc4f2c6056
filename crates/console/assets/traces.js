// Traces: the list, the search for one, and the page below it.

import { get } from "./api.js";
import { el, fill, moment, nothing, row, select, table, visible } from "./dom.js";
import { complain } from "./notices.js";
import { paged } from "./pager.js";
import * as trace from "./trace.js";
import { statusBadge, took, traceAddress } from "./words.js";

export const title = "Traces";

const COLUMNS = ["Name", "Newest run", "Started", "Took"];
const STATES = [
  ["", "All states"], ["pending", "Pending"], ["running", "Running"], ["completed", "Completed"], ["failed", "Failed"], ["canceled", "Canceled"],
];
const PAGE = 50;

export function render(context) {
  return context.path[0] ? trace.render(context) : list(context);
}

async function list({ query, signal }) {
  const state = select({ "aria-label": "Status of the newest run" }, STATES, query.get("state") ?? "");
  const named = el("input", { type: "search", name: "named", required: true, placeholder: "Task, request or run; or the id of a trace", "aria-label": "Trace of", spellcheck: "false", maxlength: "200" });
  const search = el("form", { class: "toolbar", role: "search" }, named, el("button", { type: "submit" }, "Open"), state);
  const { node, body } = table("Traces, the one with the newest run first", COLUMNS);
  const empty = nothing("");
  const load = (cursor) => {
    const wanted = new URLSearchParams({ limit: PAGE });
    if (state.value) wanted.set("status", state.value);
    if (cursor) wanted.set("cursor", cursor);
    return get(`/v1/traces?${wanted}`);
  };
  const draw = (items) => {
    fill(body, ...items.map(line));
    node.hidden = items.length === 0;
    fill(empty, items.length ? null : state.value ? "No trace has this status." : "Nothing has run yet.");
  };
  const pages = paged({ load, draw, signal });
  state.addEventListener("change", () => {
    history.replaceState(null, "", `#/traces${state.value ? `?state=${state.value}` : ""}`);
    pages.restart();
  });
  search.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      location.hash = traceAddress(await find(named.value.trim()));
    } catch (error) {
      complain(error);
    }
  });
  await pages.read();
  return el("section", {},
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title)), search, node, empty, pages.node);
}

/** The id of the trace of something: a trace, a run, a task or a request. */
async function find(name) {
  const part = encodeURIComponent(name);
  const attempts = [
    ...(/^[0-9a-f-]{36}$/i.test(name) ? [() => get(`/v1/traces/${part}?limit=1`).then((found) => found.trace_id)] : []),
    () => get(`/v1/runs/${part}`).then((found) => found.trace_id),
    () => get(`/v1/requests/${part}`).then((found) => found.id),
  ];
  for (const attempt of attempts) {
    try {
      return await attempt();
    } catch (error) {
      if (error.status !== 404) throw error;
    }
  }
  throw new Error(`There is no trace of “${name}” that you may see.`);
}

function line(item) {
  const ms = item.ended_at ? new Date(item.ended_at) - new Date(item.created_at) : null;
  const node = row(COLUMNS, [
    el("div", {}, el("a", { href: traceAddress(item.trace_id) }, visible(item.name))),
    statusBadge(item.status), moment(item.created_at), ms === null ? "open" : took(Math.max(0, ms)),
  ]);
  node.dataset.trace = item.trace_id;
  return node;
}
