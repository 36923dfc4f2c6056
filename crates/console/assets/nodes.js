// The worker nodes, and the tokens with which new ones join.

import { get, post, remove } from "./api.js";
import { confirm, formDialog, open } from "./dialog.js";
import { badge, el, facts, field, fill, KeyedList, moment, nothing, row, table, visible } from "./dom.js";
import { allChanges, showChanges } from "./change-log.js";
import { repeat } from "./live.js";
import { say } from "./notices.js";
import { paged } from "./pager.js";
import { actButton, rowVerbs } from "./row-verbs.js";
import { command, showSecret } from "./secret-dialog.js";
import { age } from "./words.js";

export const title = "Nodes";

const COLUMNS = ["Worker node", "State", "Jobs", "Size", "Labels", "Last seen", ""];
const TOKEN_COLUMNS = ["For", "State", "Created", ""];
const TONES = { active: "good", drained: "warn", inactive: "bad" };
const [EVERY_MS, PAGE] = [5000, 20];

export async function create({ me, signal }) {
  const nodes = await nodesPart(me, signal);
  const tokens = me.is_admin ? await tokensPart(signal) : null;
  const log = actButton({ "data-verb": "history" }, "History", () => showChanges("History of worker nodes", allChanges("node")));
  return el("div", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, title), me.is_admin ? el("div", { class: "verbs" }, log) : null), nodes, tokens);
}

async function nodesPart(me, signal) {
  const { node, body } = table("Worker nodes", COLUMNS);
  const empty = nothing("No worker node has joined.");
  const stale = el("p", { class: "stale", role: "status" });
  let known = [];
  const find = (id) => known.find((each) => each.id === id);
  const list = new KeyedList(body, (each) => each.id, (each) => line(each, me, find, read));
  async function read() {
    const found = await get("/v1/nodes");
    if (signal.aborted) return;
    known = found;
    // Fields that change with every heartbeat do not replace a row: a new row would take the focus from its buttons.
    list.draw(found.map(({ last_seen_at: seen, load, ...steady }) => ({ ...steady, isShort: load?.is_disk_short ?? false })));
    for (const each of found) fill(body.querySelector(`[data-seen="${CSS.escape(each.id)}"]`), seen(each));
    [node.hidden, empty.hidden] = [found.length === 0, found.length > 0];
    fill(stale);
  }
  await read();
  repeat(() => read().catch((error) => !signal.aborted && fill(stale, visible(error.message))), EVERY_MS, signal);
  return el("div", {}, stale, node, empty);
}

const seen = ({ last_seen_at: at }) => (at ? el("span", { title: at }, age(at)) : "never");
const address = (id) => `/v1/nodes/${encodeURIComponent(id)}`;
const labelsOf = ({ labels }) => Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`).join(", ");

function line(each, me, find, refresh) {
  const can = each.capabilities;
  const name = visible(each.node_slug);
  const node = row(COLUMNS, [
    el("div", {}, el("button", { type: "button", class: "link mono", onclick: () => details(find(each.id) ?? each) }, name),
      can.sandbox.supported ? null : el("p", { class: "fault" }, `No jobs run here: ${visible(can.sandbox.reason ?? "it has no sandbox")}`),
      each.isShort ? el("p", { class: "fault" }, "Its disk is nearly full: it gets no new jobs.") : null),
    badge(each.status, TONES[each.status]), `${each.running_jobs} of ${can.max_concurrency}`, size(can),
    labelsOf(can) ? el("span", { class: "mono" }, visible(labelsOf(can))) : "", el("span", { "data-seen": each.id }),
    me.is_admin ? verbs(each, name, refresh) : "",
  ]);
  node.dataset.node = each.node_slug;
  return node;
}

const size = (can) => `${can.cpu_cores} ${can.cpu_cores === 1 ? "core" : "cores"}, ${can.memory_mib.toLocaleString("en")} MiB`;

function verbs(each, name, refresh) {
  const isDrained = each.status === "drained";
  const steer = async () => {
    await post(`${address(each.id)}/${isDrained ? "enable" : "drain"}`);
    say(isDrained ? `${each.node_slug} gets jobs again.` : `${each.node_slug} finishes its jobs and gets no new ones.`);
    await refresh();
  };
  const rotate = () => {
    const words = "Its key and its token are revoked at once. It works again when it has registered with the join token that you get.";
    confirm(`Rotate the key of ${name}?`, words, "Rotate", async () => {
      const made = await post(`${address(each.id)}/rotate-key`);
      await refresh();
      return () => showJoinToken(made, each.node_slug, true);
    });
  };
  const drop = () => confirm(`Remove ${name}?`, "Its key and its token are revoked, and its name is free. A node with open jobs is kept.", "Remove", async () => {
    await remove(address(each.id));
    say(`${each.node_slug} is removed.`);
    await refresh();
  });
  return rowVerbs(name, [[isDrained ? "Enable" : "Drain", steer], ["Rotate key", rotate], ["Remove", drop]]);
}

/** Opens the details of a worker node. */
function details(each) {
  const can = each.capabilities;
  const limits = can.sandbox.supported ? can.sandbox.reason : null;
  open(visible(each.node_slug), facts([
    ["State", badge(each.status, TONES[each.status])], ["Jobs", `${each.running_jobs} of ${can.max_concurrency}`],
    ["Size", size(can)], ["Load", load(each.load)], ["System", visible(`${can.os} ${can.arch}`)],
    ["Labels", visible(labelsOf(can))], ["Images", visible((can.images ?? []).join(", "))],
    ["Sandbox", visible(can.sandbox.supported ? can.sandbox.backend : `none: ${can.sandbox.reason}`)],
    ["Enforces", visible(can.sandbox.features.join(", "))], ["Not enforced", limits ? visible(limits) : null],
    ["Version", visible(can.version ?? "")], ["Last seen", each.last_seen_at ? moment(each.last_seen_at) : "never"],
    ["Joined", moment(each.created_at)], ["Id", el("code", {}, each.id)],
  ]));
}

function load(measured) {
  if (!measured) return null;
  const { load_average_percent: average, available_memory_mib: memory, free_disk_mib: disk } = measured;
  const mib = (number) => `${number.toLocaleString("en")} MiB`;
  return [
    average === undefined ? null : (average / 100).toFixed(2), memory === undefined ? null : `${mib(memory)} of memory available`,
    disk === undefined ? null : `${mib(disk)} of disk free`,
  ].filter(Boolean).join(", ");
}

async function tokensPart(signal) {
  const { node, body } = table("Join tokens, newest first", TOKEN_COLUMNS);
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
  const node = row(TOKEN_COLUMNS, [
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

/** Shows a new join token with the steps that use it. */
function showJoinToken({ secret, expires_at: end }, node, isRotated) {
  const name = node ?? "NAME";
  const file = `${name}.join-token`;
  const start = `cynode-node --slug ${name} --orchestrator-url ${location.origin} --join-token-file ${file} --state-dir ./${name}`;
  showSecret("Join token", secret,
    el("p", {}, "It registers one node, until ", moment(end), "."),
    isRotated
      ? el("p", {}, `On ${visible(name)}: write it to the join token file, delete node.key in the state directory, and restart the node.`)
      : [el("p", {}, "On the machine of the node, write it to ", el("code", {}, visible(file)), " and start the node:"), command(visible(start))]);
}
