// Skills: texts that tell agents how to work. The list, and the pages below it.

import { get } from "./api.js";
import { badge, el, fill, moment, nothing, row, select, table, visible } from "./dom.js";
import { paged } from "./pager.js";
import * as skill from "./skill.js";
import { createSkill, SKILL_SCOPES } from "./skill-form.js";
import { skillAddress, wordsFor } from "./words.js";

export const title = "Skills";

const COLUMNS = ["Skill", "State", "Readers", "Owner", "Version", "Last change"];
const PAGE = 50;

export function render(context) {
  return context.path[0] ? skill.render(context) : list(context);
}

async function list({ me, query, signal }) {
  const scope = select({ "aria-label": "Readers" }, [["", "All readers"], ...SKILL_SCOPES], query.get("scope") ?? "");
  const { node, body } = table("Skills, newest first", COLUMNS);
  const empty = nothing("");
  const load = (cursor) => {
    const wanted = new URLSearchParams({ limit: PAGE });
    if (scope.value) wanted.set("scope", scope.value);
    if (cursor) wanted.set("cursor", cursor);
    return get(`/v1/skills?${wanted}`);
  };
  const draw = (items) => {
    fill(body, ...items.map((item) => line(item, me)));
    node.hidden = items.length === 0;
    fill(empty, items.length ? null : scope.value ? "No skill has these readers." : "There are no skills yet.");
  };
  const pages = paged({ load, draw, signal });
  scope.addEventListener("change", () => {
    history.replaceState(null, "", `#/skills${scope.value ? `?scope=${scope.value}` : ""}`);
    pages.restart();
  });
  await pages.read();
  const add = el("button", { type: "button", class: "main", onclick: () => createSkill(me) }, "New skill");
  return el("section", {},
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title), add),
    el("div", { class: "toolbar" }, scope), node, empty, pages.node);
}

function line(item, me) {
  const node = row(COLUMNS, [
    el("div", {}, el("a", { href: skillAddress(item.id) }, visible(item.name))),
    item.quarantine ? badge("in quarantine", "bad") : badge("delivered", "good"),
    wordsFor(SKILL_SCOPES, item.scope), skill.ownerWords(item, me), String(item.version), moment(item.updated_at),
  ]);
  node.dataset.skill = item.name;
  return node;
}
