// The recorded changes of a resource: author, time, old and new value, reason.

import { get } from "./api.js";
import { open } from "./dialog.js";
import { el, fill, moment, nothing, row, table, visible } from "./dom.js";
import { paged } from "./pager.js";

const COLUMNS = ["When", "Who", "What", "Value", "Why"];
const [PAGE, MOST_CHARACTERS] = [20, 300];

/** Opens the changes that a route lists; `address` may have parameters. */
export async function showChanges(heading, address) {
  const ended = new AbortController();
  const { node, body } = table("Changes, newest first", COLUMNS);
  const empty = nothing("No change is recorded.");
  const draw = (items) => {
    fill(body, ...items.map(line));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const load = (cursor) => {
    const [path, parameters] = address.split("?");
    const wanted = new URLSearchParams(parameters);
    wanted.set("limit", PAGE);
    if (cursor) wanted.set("cursor", cursor);
    return get(`${path}?${wanted}`);
  };
  const pages = paged({ load, draw, signal: ended.signal });
  await pages.read();
  const { dialog } = open(heading, node, empty, pages.node);
  dialog.addEventListener("close", () => ended.abort());
}

/** The address of the changes to all resources of a kind, also of those that are gone. For administrators. */
export const allChanges = (kind) => `/v1/audit/changes?${new URLSearchParams({ resource_type: kind })}`;

function line(change) {
  const who = change.changed_by_handle ?? change.changed_by ?? "the system";
  return row(COLUMNS, [
    moment(change.changed_at), visible(who),
    el("div", {}, visible(change.action), el("code", { class: "about" }, visible(change.resource))),
    values(change), change.reason ? el("div", {}, visible(change.reason)) : "",
  ]);
}

/** The old and the new value, as far as they may be shown; null is a value. */
function values({ old_value: before, new_value: after }) {
  const shorten = (value) => {
    const text = JSON.stringify(value);
    return visible(text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text);
  };
  if (before === undefined && after === undefined) return "";
  const was = before === undefined ? null : el("del", {}, shorten(before));
  const is = after === undefined ? null : el("ins", {}, shorten(after));
  return el("div", { class: "target mono" }, was, was && is ? " " : null, is);
}
