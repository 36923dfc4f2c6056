// The own account: its API tokens, its password and its sessions.

import { get, post, remove } from "./api.js";
import { confirm, formDialog } from "./dialog.js";
import { badge, el, field, fill, moment, nothing, row, select, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { paged } from "./pager.js";
import { newPassword } from "./password-fields.js";
import { rowVerbs } from "./row-verbs.js";
import { command, showSecret } from "./secret-dialog.js";
import { age } from "./words.js";

const COLUMNS = ["Token", "State", "Last used", "Created", ""];
const LIFETIMES = [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "A year"], ["never", "Until it is revoked"]];
const PAGE = 20;

export async function create({ me, signal }) {
  const { node, body } = table("Your API tokens, newest first", COLUMNS);
  const empty = nothing("You have no API tokens.");
  const draw = (items) => {
    fill(body, ...items.map((each) => line(each, pages.read)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const load = (cursor) => get(`/v1/tokens?${new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
  const pages = paged({ load, draw, signal });
  await pages.read();
  const button = (verb, words, act, tone = "") => el("button", { type: "button", class: tone, "data-verb": verb, onclick: act }, words);
  const endAll = () => confirm("End all your sessions?", "You are signed out here too. Your API tokens stay valid.", "End them", async () => {
    const { ended } = await remove("/v1/users/me/sessions");
    // The next request finds that this session has ended, and the page asks to sign in again.
    return () => get("/v1/users/me").catch(() => say(`${ended} sessions ended.`));
  });
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Your account"), el("div", { class: "verbs" },
      button("change-password", "Change the password", changePassword), button("end-sessions", "End all sessions", endAll),
      button("new-token", "New API token", () => createToken(pages.read), "main"))),
    el("p", { class: "soft" }, `You are ${visible(me.handle)}. An API token signs in programs as you, with your rights.`), node, empty, pages.node);
}

function line(each, refresh) {
  const name = visible(each.name);
  const [state, tone] = tokenState(each);
  const drop = () => confirm(`Revoke ${name}?`, "Programs that use it are refused from now on.", "Revoke", async () => {
    await remove(`/v1/tokens/${encodeURIComponent(each.id)}`);
    say(`${each.name} is revoked.`);
    await refresh();
  });
  const node = row(COLUMNS, [
    el("div", {}, name), el("div", {}, badge(state, tone), each.expires_at && tone === "good" ? [" ", moment(each.expires_at)] : null),
    each.last_used_at ? el("span", { title: each.last_used_at }, age(each.last_used_at)) : "never", moment(each.created_at),
    tone === "good" ? rowVerbs(name, [["Revoke", drop]]) : "",
  ]);
  node.dataset.token = each.name;
  return node;
}

function tokenState({ revoked_at: revoked, expires_at: end }) {
  if (revoked) return ["revoked", ""];
  if (!end) return ["no expiry", "good"];
  return new Date(end) <= Date.now() ? ["expired", ""] : ["valid until", "good"];
}

function createToken(refresh) {
  const name = el("input", { name: "name", required: true, maxlength: "100", autocomplete: "off" });
  const lifetime = select({ name: "lifetime" }, LIFETIMES, "90");
  formDialog("New API token", [field("What it is for", name), field("Valid for", lifetime)], "Create", async () => {
    const end = lifetime.value === "never" ? { never_expires: true } : { expires_in_days: Number(lifetime.value) };
    const made = await post("/v1/tokens", { name: name.value.trim(), ...end });
    await refresh();
    return () => showSecret("API token", made.secret,
      el("p", {}, "Programs send it as a bearer token. The command line reads it from a variable:"), command("read -rs CYNORK_TOKEN && export CYNORK_TOKEN"));
  });
}

function changePassword() {
  const present = el("input", { name: "current_password", type: "password", autocomplete: "current-password", required: true });
  const password = newPassword();
  formDialog("Change the password", [
    el("p", {}, "Your other sessions end."), field("Current password", present), ...password.nodes,
  ], "Change", async () => {
    await post("/v1/users/me/password", { current_password: present.value, new_password: password.value() });
    say("Your password is changed.");
  });
}
