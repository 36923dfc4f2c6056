// Capability leases: permissions with which agents use tools of a worker node directly.

import { get, post, remove } from "./api.js";
import { confirm } from "./dialog.js";
import { badge, el, fill, moment, nothing, row, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { paged } from "./pager.js";
import { rowVerbs } from "./row-verbs.js";

export const title = "Leases";

const COLUMNS = ["Worker node", "Caller", "Tools", "State", "Issued", ""];
const PAGE = 50;

export async function create({ me, signal }) {
  const { node, body } = table("Capability leases, newest first", COLUMNS);
  const empty = nothing("There are no leases.");
  const draw = (items) => {
    fill(body, ...items.map((each) => line(each, pages.read)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const load = (cursor) => get(`/v1/capability-leases?${new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
  const pages = paged({ load, draw, signal });
  await pages.read();
  const rotate = () => confirm("Replace the key that signs leases?", "New leases are signed with the new key. Leases of the old one are valid until they end.", "Replace", async () => {
    const key = await post("/v1/capability-leases/rotate-key");
    say(`New leases are signed with the key ${key.id}.`);
  });
  const button = el("button", { type: "button", "data-verb": "rotate-lease-key", onclick: rotate }, "Replace the key");
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, title), me.is_admin ? el("div", { class: "verbs" }, button) : null),
    el("p", { class: "soft" }, "A lease lets an agent call tools of one sandbox on its worker node, without the orchestrator."), node, empty, pages.node);
}

function line(each, refresh) {
  const name = `${visible(each.node_slug)}, ${each.caller}`;
  const isOver = new Date(each.expires_at) <= Date.now();
  const drop = () => confirm(`Revoke the lease for ${name}?`, "Its worker node refuses it within seconds, and stops its commands.", "Revoke", async () => {
    await remove(`/v1/capability-leases/${encodeURIComponent(each.id)}`);
    say("The lease is revoked.");
    await refresh();
  });
  const state = each.revoked_at
    ? el("div", {}, badge("revoked"), " ", moment(each.revoked_at), each.revoked_reason ? el("span", { class: "about" }, visible(each.revoked_reason)) : null)
    : el("div", {}, badge(isOver ? "expired" : "valid until", isOver ? "" : "good"), " ", moment(each.expires_at));
  const node = row(COLUMNS, [
    el("div", {}, el("strong", {}, visible(each.node_slug))), each.caller, el("div", {}, el("code", { class: "target" }, each.tools.map(visible).join(", "))), state, moment(each.issued_at),
    each.revoked_at || isOver ? "" : rowVerbs(name, [["Revoke", drop]]),
  ]);
  node.dataset.lease = each.id;
  return node;
}
