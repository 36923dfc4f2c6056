// The worker nodes.

import { get, post, remove } from "./api.js";
import { allChanges, showChanges } from "./change-log.js";
import { confirm, open } from "./dialog.js";
import { badge, el, facts, fill, KeyedList, moment, nothing, row, table, visible } from "./dom.js";
import { joinTokens, showJoinToken } from "./join-tokens.js";
import { repeat } from "./live.js";
import { say } from "./notices.js";
import { actButton, rowVerbs } from "./row-verbs.js";
import { age } from "./words.js";

export const title = "Nodes";

const COLUMNS = ["Worker node", "State", "Jobs", "Size", "Labels", "Last seen", ""];
const TONES = { active: "good", drained: "warn", inactive: "bad" };
const EVERY_MS = 5000;

export async function create({ me, signal }) {
  const nodes = await nodesPart(me, signal);
  const tokens = me.is_admin ? await joinTokens(signal) : null;
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
