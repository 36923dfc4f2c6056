// The tokens with which worker nodes join.

import { get, post, remove } from "./api.js";
import { confirm, formDialog } from "./dialog.js";
import { badge, el, field, fill, moment, nothing, row, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { paged } from "./pager.js";
import { rowVerbs } from "./row-verbs.js";
import { command, showSecret } from "./secret-dialog.js";

const COLUMNS = ["For", "State", "Created", ""];
const PAGE = 20;

/** The join tokens, and the button that makes one. */
export async function joinTokens(signal) {
  const { node, body } = table("Join tokens, newest first", COLUMNS);
  const empty = nothing("No join token was created.");
  const draw = (items) => {
    fill(body, ...items.map((each) => tokenLine(each, pages.read)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const load = (cursor) => get(`/v1/nodes/join-tokens?${new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
  const pages = paged({ load, draw, signal });
  await pages.read();
  const add = el("button", { type: "button", class: "main", "data-verb": "new-join-token", onclick: () => createToken(pages.read) }, "New join token");
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Join tokens"), add),
    el("p", { class: "soft" }, "A join token registers one worker node, once."), node, empty, pages.node);
}

function tokenLine(each, refresh) {
  const [state, tone, at] = tokenState(each);
  const words = each.node_slug ? visible(each.node_slug) : "any new node";
  const drop = () => confirm("Revoke the join token?", `No node can register with it. It is for ${words}.`, "Revoke", async () => {
    await remove(`/v1/nodes/join-tokens/${encodeURIComponent(each.id)}`);
    say("The join token is revoked.");
    await refresh();
  });
  const node = row(COLUMNS, [
    el("div", {}, el("span", { class: "mono" }, words)), el("div", {}, badge(state, tone), " ", moment(at)), moment(each.created_at),
    tone === "good" ? rowVerbs(`join token for ${words}`, [["Revoke", drop]]) : "",
  ]);
  node.dataset.joinToken = each.id;
  return node;
}

function tokenState({ revoked_at: revoked, used_at: used, expires_at: end }) {
  if (revoked) return ["revoked", "", revoked];
  if (used) return ["used", "", used];
  return new Date(end) <= Date.now() ? ["expired", "", end] : ["valid until", "good", end];
}

function createToken(refresh) {
  const name = el("input", {
    name: "node_slug", pattern: "[a-z0-9]+(-[a-z0-9]+)*", title: "lowercase letters, digits and single dashes",
    autocomplete: "off", autocapitalize: "none", spellcheck: "false",
  });
  const minutes = el("input", { type: "number", name: "minutes", min: "1", max: "10080", placeholder: "60" });
  formDialog("New join token", [
    field("Name of the node", name, "Only a node of this name can use it. If empty, any new node can."),
    field("Minutes that it is valid", minutes, "At most 10080, which is a week. If empty, an hour."),
  ], "Create", async () => {
    const body = { node_slug: name.value.trim() || undefined, expires_in_minutes: minutes.value ? Number(minutes.value) : undefined };
    const made = await post("/v1/nodes/join-tokens", body);
    await refresh();
    return () => showJoinToken(made, made.node_slug, false);
  });
}

/** Shows a new join token with the steps that use it; a rotated node exists already. */
export function showJoinToken({ secret, expires_at: end }, node, isRotated) {
  const name = node ?? "NAME";
  const file = `${name}.join-token`;
  const start = `cynode-node --slug ${name} --orchestrator-url ${location.origin} --join-token-file ${file} --state-dir ./${name}`;
  showSecret("Join token", secret,
    el("p", {}, "It registers one node, until ", moment(end), "."),
    isRotated
      ? el("p", {}, `On ${visible(name)}: write it to the join token file, delete node.key in the state directory, and restart the node.`)
      : [el("p", {}, "On the machine of the node, write it to ", el("code", {}, visible(file)), " and start the node:"), command(visible(start))]);
}
