// The runs of a task: a retry adds one.

import { get } from "./api.js";
import { el, fill, nothing } from "./dom.js";
import { complain } from "./notices.js";
import { paged } from "./pager.js";
import { runTable } from "./runs.js";

export const title = "Runs";

const PAGE = 50;

export async function create({ view, signal }) {
  const shown = runTable("Runs of the task, newest first");
  const empty = nothing("");
  const load = (cursor) => {
    const wanted = new URLSearchParams({ limit: PAGE, task: view.task.id });
    if (cursor) wanted.set("cursor", cursor);
    return get(`/v1/runs?${wanted}`);
  };
  const draw = (items) => {
    shown.draw(items);
    fill(empty, items.length ? null : "It has not run yet.");
  };
  const pages = paged({ load, draw, signal });
  await pages.read();
  return { node: el("div", { class: "part" }, shown.node, empty, pages.node), update: () => pages.read().catch(complain) };
}
