// The history of a run: its transitions with their changes, and what people did in between.

import { get } from "./api.js";
import { el, fill, KeyedList, moment, nothing, row, table, visible } from "./dom.js";
import { complain } from "./notices.js";
import { paged } from "./pager.js";
import { fork } from "./run-verbs.js";
import { plain, runAddress, took } from "./words.js";

export const title = "History";

const COLUMNS = ["Row", "Workflow node", "Edge", "Step", "Changed", "Took", "Recorded", ""];
const PAGE = 100;

export async function create({ run, mayChange, signal }) {
  const { node, body } = table("History of the run, oldest first", COLUMNS);
  const empty = nothing("");
  let now = run;
  const rows = new KeyedList(body, keyOf, (item) => (item.kind === "act" ? act(item) : transition(item, { current: () => now, mayChange })));
  const load = (cursor) => {
    const wanted = new URLSearchParams({ limit: PAGE });
    if (cursor) wanted.set("cursor", cursor);
    return get(`/v1/runs/${encodeURIComponent(run.id)}/history?${wanted}`);
  };
  const draw = (items) => {
    rows.draw(items);
    node.hidden = items.length === 0;
    fill(empty, items.length ? null : "Nothing has happened yet.");
  };
  const pages = paged({ load, draw, signal, labels: ["Earlier", "Later"] });
  await pages.read();
  const update = (newer) => {
    now = newer;
    pages.read().catch(complain);
  };
  return { node: el("div", { class: "part" }, node, empty, pages.node), update };
}

const keyOf = ({ kind, sequence, recorded_at: at, verb }) => `${kind} ${sequence} ${verb ?? ""} ${verb ? at : ""}`;

function transition(item, { current, mayChange }) {
  const compare = el("a", { href: `${runAddress(current().id, "compare")}?to=${item.sequence}`, "aria-label": `Changes of row ${item.sequence}` }, "Changes");
  const again = el("button", { type: "button", class: "quiet", "aria-label": `Fork row ${item.sequence}`, onclick: () => fork(current(), item.sequence) }, "Fork");
  const node = row(COLUMNS, [
    String(item.sequence), plain(visible(item.node)), plain(visible(item.edge)),
    item.step_index === undefined || item.step_index === null ? "" : String(item.step_index + 1),
    item.changed.length ? el("div", {}, el("span", { class: "about" }, item.changed.map((name) => plain(visible(name))).join(", "))) : "", el("span", { class: "nowrap" }, took(item.duration_ms)), moment(item.recorded_at),
    el("span", {}, compare, mayChange ? [" ", again] : null),
  ]);
  node.dataset.row = item.sequence;
  return node;
}

/** What a person did, after the row of its sequence. */
function act(item) {
  const details = Object.entries(item.detail ?? {}).filter(([, value]) => value !== null)
    .map(([name, value]) => `${plain(name)}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  const node = row(COLUMNS, [
    el("strong", {}, visible(item.by)), plain(item.verb), "", "",
    details.length ? el("div", {}, el("span", { class: "about" }, visible(details.join(", ")))) : "", "", moment(item.recorded_at), "",
  ]);
  node.dataset.act = item.verb;
  return node;
}
