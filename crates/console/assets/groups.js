// Groups of users, and the members of one.

import { get, post, put, remove } from "./api.js";
import { allChanges, showChanges } from "./change-log.js";
import { confirm, formDialog } from "./dialog.js";
import { badge, el, field, fill, moment, nothing, row, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { paged } from "./pager.js";
import { actButton, rowVerbs } from "./row-verbs.js";

const COLUMNS = ["Group", "Name in commands", "Created", ""];
const MEMBER_COLUMNS = ["Member", "Since", ""];
const PAGE = 50;

const groupAddress = (name) => `/v1/groups/${encodeURIComponent(name)}`;
const page = (cursor) => new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) });

export async function create({ me, signal }) {
  const { node, body } = table("Groups", COLUMNS);
  const empty = nothing(me.is_admin ? "There are no groups." : "You are in no group.");
  const draw = (items) => {
    fill(body, ...items.map((each) => line(each, me, pages.read)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const pages = paged({ load: (cursor) => get(`/v1/groups?${page(cursor)}`), draw, signal, labels: ["Previous", "Next"] });
  await pages.read();
  const add = el("button", { type: "button", class: "main", "data-verb": "new-group", onclick: createGroup }, "New group");
  const log = actButton({ "data-verb": "history" }, "History", () => showChanges("History of groups", allChanges("group")));
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, me.is_admin ? "Groups" : "Your groups"), me.is_admin ? el("div", { class: "verbs" }, log, add) : null),
    node, empty, pages.node);
}

function line(each, me, refresh) {
  const name = visible(each.display_name);
  const node = row(COLUMNS, [
    el("div", {}, el("a", { href: `#/admin/people?${new URLSearchParams({ group: each.name })}` }, name), each.is_member ? [" ", badge("you are a member")] : null),
    el("code", {}, visible(each.name)), moment(each.created_at), me.is_admin ? rowVerbs(name, [["Delete", () => drop(each, refresh)]]) : "",
  ]);
  node.dataset.group = each.name;
  return node;
}

function drop(each, refresh) {
  const words = "Its preferences, credentials and rules are deleted too; its skills stay with their owners.";
  confirm(`Delete the group ${visible(each.display_name)}?`, words, "Delete", async () => {
    await remove(groupAddress(each.id));
    say(`${each.display_name} is deleted.`);
    await refresh();
  }, "Keep it");
}

function createGroup() {
  const name = el("input", {
    name: "name", required: true, pattern: "[a-z0-9]+(-[a-z0-9]+)*", title: "lowercase letters, digits and single dashes",
    autocomplete: "off", autocapitalize: "none", spellcheck: "false",
  });
  const shown = el("input", { name: "display_name", maxlength: "100", autocomplete: "off" });
  formDialog("New group", [field("Name in commands", name), field("Name", shown, "The name in commands if empty.")], "Create", async () => {
    const made = await post("/v1/groups", { name: name.value.trim(), display_name: shown.value.trim() || undefined });
    location.hash = `#/admin/people?${new URLSearchParams({ group: made.name })}`;
  });
}

/** The members of a group. */
export async function memberPart({ me, signal }, name) {
  const group = await get(groupAddress(name));
  const { node, body } = table("Members", MEMBER_COLUMNS);
  const empty = nothing("The group has no members.");
  const draw = (items) => {
    fill(body, ...items.map((each) => memberLine(each, group, me, pages.read)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const pages = paged({ load: (cursor) => get(`${groupAddress(group.id)}/members?${page(cursor)}`), draw, signal, labels: ["Previous", "Next"] });
  await pages.read();
  const add = el("button", { type: "button", class: "main", "data-verb": "add-member", onclick: () => addMember(group, pages.read) }, "Add a member");
  return el("section", { class: "part" },
    el("p", { class: "crumb" }, el("a", { href: "#/admin/people" }, "All people")),
    el("div", { class: "head" }, el("h2", {}, visible(group.display_name)), el("code", { class: "soft" }, visible(group.name)), me.is_admin ? add : null),
    node, empty, pages.node);
}

function memberLine(each, group, me, refresh) {
  const name = visible(each.handle);
  const expel = () => confirm(`Remove ${name} from ${visible(group.display_name)}?`, "The next prompt, call and decision no longer uses the group.", "Remove", async () => {
    await remove(`${groupAddress(group.id)}/members/${encodeURIComponent(each.user_id)}`);
    say(`${each.handle} is no member any more.`);
    await refresh();
  });
  const node = row(MEMBER_COLUMNS, [el("div", {}, name), moment(each.added_at), me.is_admin ? rowVerbs(name, [["Remove", expel]]) : ""]);
  node.dataset.member = each.handle;
  return node;
}

function addMember(group, refresh) {
  const handle = el("input", { name: "user", required: true, autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  formDialog(`Add a member to ${visible(group.display_name)}`, [field("User", handle, "By handle or id.")], "Add", async () => {
    const added = await put(`${groupAddress(group.id)}/members/${encodeURIComponent(handle.value.trim())}`);
    say(`${added.handle} is a member.`);
    await refresh();
  });
}
