// One project: its parts, each with an address of its own.

import { get } from "./api.js";
import { badge, el, tabs, visible } from "./dom.js";
import * as knowledge from "./knowledge.js";
import * as memory from "./memory.js";
import * as profiles from "./profiles.js";
import { projectAddress } from "./words.js";

/** The parts. `create` is given the project and whether the person may change it, and returns a node. */
const PARTS = { profiles, memory, knowledge };

export async function render({ path: [id, name], me, query, signal }) {
  const project = await get(`/v1/projects/${encodeURIComponent(id)}`);
  const chosen = Object.hasOwn(PARTS, name ?? "") ? name : "profiles";
  document.title = `${visible(project.display_name)} · CyNode`;
  // Others see a project through its group.
  const mayChange = me.is_admin || project.owner === me.handle;
  const address = `/v1/projects/${encodeURIComponent(project.id)}`;
  const part = await PARTS[chosen].create({ project, address, me, mayChange, query, signal });
  return el("section", {},
    el("p", { class: "crumb" }, el("a", { href: "#/projects" }, "Projects")),
    el("h1", { tabindex: "-1" }, visible(project.display_name)),
    el("p", { class: "state" }, el("code", {}, visible(project.slug)), el("span", { class: "soft" }, ` · ${visible(project.owner)}`),
      project.group ? el("span", { class: "soft" }, ` · shared with ${visible(project.group)}`) : null,
      project.is_active ? null : [" ", badge("takes no tasks", "warn")], el("span", { class: "soft" }, " · "), el("a", { href: `#/tasks?project=${encodeURIComponent(project.id)}` }, "Its tasks")),
    project.description ? el("p", { class: "prose" }, visible(project.description)) : null,
    tabs("Parts of the project", PARTS, chosen, (key) => projectAddress(id, key === "profiles" ? "" : key)), part);
}
