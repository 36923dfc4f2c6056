// The users: who may sign in, and who is an administrator. For administrators.

import { get, patch, post, remove } from "./api.js";
import { confirm, formDialog } from "./dialog.js";
import { badge, el, field, fill, moment, row, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { paged } from "./pager.js";
import { newPassword } from "./password-fields.js";
import { rowVerbs } from "./row-verbs.js";

const COLUMNS = ["User", "Rights", "State", "Created", ""];
const PAGE = 50;
/** The user that owns what the installation does itself; it cannot be changed. */
const SYSTEM = "system";

export async function create({ me, signal }) {
  const { node, body } = table("Users", COLUMNS);
  const load = (cursor) => get(`/v1/users?${new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
  const pages = paged({ load, draw: (items) => fill(body, ...items.map((each) => line(each, me, pages.read))), signal, labels: ["Previous", "Next"] });
  await pages.read();
  const add = el("button", { type: "button", class: "main", "data-verb": "new-user", onclick: () => createUser(pages.read) }, "New user");
  return el("section", { class: "part" }, el("div", { class: "head" }, el("h2", {}, "Users"), add), node, pages.node);
}

function line(each, me, refresh) {
  const name = visible(each.handle);
  const node = row(COLUMNS, [
    el("div", {}, el("strong", {}, name), each.id === me.id ? el("span", { class: "soft" }, " you") : null),
    each.is_admin ? badge("administrator", "warn") : "user", each.is_active ? badge("active", "good") : badge("disabled", "bad"),
    moment(each.created_at), each.handle === SYSTEM ? "" : verbs(each, name, refresh),
  ]);
  node.dataset.user = each.handle;
  return node;
}

function verbs(each, name, refresh) {
  const address = `/v1/users/${encodeURIComponent(each.id)}`;
  const change = async (wanted, words) => {
    await patch(address, wanted);
    say(`${each.handle} ${words}`);
    await refresh();
  };
  const ask = (heading, words, verb, act) => () => confirm(heading, words, verb, act);
  const disable = ask(`Disable ${name}?`, "The user cannot sign in, sessions end, and tokens are refused until the user is enabled again.", "Disable",
    () => change({ is_active: false }, "is disabled."));
  const promote = ask(`Make ${name} an administrator?`, "Administrators see and change everything in this installation.", "Make administrator",
    () => change({ is_admin: true }, "is an administrator."));
  const demote = ask(`Remove the administrator rights of ${name}?`, "The user then sees only what is the user's own or shared.", "Remove the rights",
    () => change({ is_admin: false }, "is no administrator any more."));
  return rowVerbs(name, [
    each.is_active ? ["Disable", disable] : ["Enable", () => change({ is_active: true }, "may sign in again.")],
    each.is_admin ? ["Demote", demote] : ["Promote", promote],
    ["Password", () => resetPassword(each, address)],
    ["End sessions", ask(`End all sessions of ${name}?`, "The user has to sign in again. API tokens stay valid.", "End them", () => end(`${address}/sessions`, each, "session"))],
    ["Revoke tokens", ask(`Revoke all API tokens of ${name}?`, "Programs that use them are refused from now on.", "Revoke them", () => end(`${address}/tokens`, each, "API token"))],
  ]);
}

async function end(path, { handle }, noun) {
  const { ended } = await remove(path);
  say(`${handle}: ${ended} ${noun}${ended === 1 ? "" : "s"} ended.`);
}

function createUser(refresh) {
  const handle = el("input", {
    name: "handle", required: true, pattern: "[a-z0-9]+(-[a-z0-9]+)*", title: "lowercase letters, digits and single dashes",
    autocomplete: "off", autocapitalize: "none", spellcheck: "false",
  });
  const password = newPassword();
  const admin = el("input", { type: "checkbox", name: "is_admin" });
  formDialog("New user", [
    field("Handle", handle, "Lowercase letters, digits and dashes."), ...password.nodes, el("label", { class: "check" }, admin, "Administrator"),
  ], "Create", async () => {
    const made = await post("/v1/users", { handle: handle.value.trim(), password: password.value(), is_admin: admin.checked });
    say(`${made.handle} is created.`);
    await refresh();
  });
}

function resetPassword({ handle }, address) {
  const password = newPassword();
  formDialog(`New password for ${visible(handle)}`, [el("p", {}, "It ends the sessions of the user."), ...password.nodes], "Set", async () => {
    await patch(address, { password: password.value() });
    say(`${handle} has a new password.`);
  });
}
