// Projects: the list, and the pages below it.

import { get, post } from "./api.js";
import { formDialog } from "./dialog.js";
import { badge, el, field, fill, moment, nothing, row, table, visible } from "./dom.js";
import { paged } from "./pager.js";
import * as project from "./project.js";
import { projectAddress } from "./words.js";

export const title = "Projects";

const COLUMNS = ["Project", "Name in commands", "Owner", "Group", "Created"];
const PAGE = 50;

export function render(context) {
  return context.path[0] ? project.render(context) : list(context);
}

async function list({ me, signal }) {
  const { node, body } = table("Projects, newest first", COLUMNS);
  const empty = nothing("There are no projects yet.");
  const draw = (items) => {
    fill(body, ...items.map((item) => line(item, me)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const pages = paged({ load: (cursor) => get(`/v1/projects?${query(cursor)}`), draw, signal });
  await pages.read();
  const add = el("button", { type: "button", class: "main", onclick: create }, "New project");
  return el("section", {},
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title), add), node, empty, pages.node);
}

function query(cursor) {
  const wanted = new URLSearchParams({ limit: PAGE });
  if (cursor) wanted.set("cursor", cursor);
  return wanted;
}

function line(item, me) {
  const node = row(COLUMNS, [
    el("div", {}, el("a", { href: projectAddress(item.id) }, visible(item.display_name)),
      item.is_default ? [" ", badge("default")] : null, item.is_active ? null : [" ", badge("takes no tasks", "warn")],
      el("span", { class: "about" }, visible(item.description))),
    el("code", {}, visible(item.slug)), item.owner === me.handle ? "you" : visible(item.owner),
    item.group ? visible(item.group) : "", moment(item.created_at),
  ]);
  node.dataset.project = item.slug;
  return node;
}

function create() {
  const name = el("input", { name: "display_name", required: true, maxlength: "100", autocomplete: "off" });
  const description = el("textarea", { name: "description", rows: "3" });
  formDialog("New project", [field("Name", name), field("Description", description)], "Create", async () => {
    const made = await post("/v1/projects", { display_name: name.value.trim(), description: description.value });
    location.hash = projectAddress(made.id);
  });
}
