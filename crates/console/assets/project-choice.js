// The choice of a project, by its id.

import { get } from "./api.js";
import { select, visible } from "./dom.js";

/** The most projects that one answer of the server lists. */
const PAGE = 200;

/**
 * A choice of a project. `none` are the words for no choice, `chosen` is the id or the name of the one that is chosen: it may be
 * one that is only shared with the person. `onlyActive` leaves out those that take no tasks. `nameOf` returns the name of a project.
 */
export async function projectChoice({ me, none, chosen = "", onlyActive = false, attributes = { "aria-label": "Project" } }) {
  const { items } = await get(`/v1/projects?limit=${PAGE}`);
  const isChosen = ({ id, slug }) => chosen === id || chosen === slug;
  const missing = chosen && !items.some(isChosen);
  const other = missing ? await get(`/v1/projects/${encodeURIComponent(chosen)}`).catch(() => null) : null;
  const all = [...items, ...(other ? [other] : [])];
  const label = ({ display_name: name, owner }) => visible(name) + (owner === me.handle ? "" : ` (${visible(owner)})`);
  const listed = all.filter((project) => !onlyActive || project.is_active || isChosen(project));
  const options = listed.map((project) => [project.id, label(project)]);
  // An address with an unknown project stays as it is, and the server says so.
  if (missing && !other) options.push([chosen, visible(chosen)]);
  const node = select(attributes, [["", none], ...options], all.find(isChosen)?.id ?? chosen);
  const names = new Map(all.map((project) => [project.id, label(project)]));
  return { node, nameOf: (id) => names.get(id) ?? "" };
}
