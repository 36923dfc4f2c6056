// The versions of a skill: who wrote which text, when and why; what changed; and the way back.

import { get, post } from "./api.js";
import { formDialog, open } from "./dialog.js";
import { patchLines } from "./diff.js";
import { badge, el, field, fill, moment, row, select, table, visible } from "./dom.js";
import { complain, reasons, say } from "./notices.js";
import { paged } from "./pager.js";

export const title = "Versions";

const COLUMNS = ["Version", "Written by", "Why", "When", ""];
const PAGE = 50;

export async function create(context) {
  const { skill, address, signal } = context;
  const { node, body } = table("Versions, newest first", COLUMNS);
  const [from, to] = ["From version", "To version"].map((label) => select({ "aria-label": label }, []));
  const compare = el("div");
  let asked = 0;
  const show = async () => {
    const ticket = ++asked;
    try {
      const { diff } = await get(`${address}/diff?from=${from.value}&to=${to.value}`);
      if (ticket !== asked || signal.aborted) return;
      // The headers before the first part only repeat the numbers.
      const lines = diff.slice(Math.max(diff.indexOf("@@"), 0)).trimEnd().split("\n");
      fill(compare, diff ? patchLines(lines, "cynork skills diff") : el("p", { class: "nothing" }, "The texts are equal."));
    } catch (error) {
      if (ticket === asked) fill(compare, el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
  };
  const choose = (older, newer) => {
    [from.value, to.value] = [String(older), String(newer)];
    return show();
  };
  const comparison = el("section", { class: "part" }, el("h2", {}, "What changed"), el("div", { class: "toolbar" }, from, to), compare);
  const draw = (items) => {
    fill(body, ...items.map((item) => line(item, context, (number) => choose(Math.max(number - 1, 1), number).then(() => comparison.scrollIntoView({ block: "nearest" })))));
    for (const choice of [from, to]) {
      const known = new Set([...choice.options].map(({ value }) => value));
      choice.append(...items.filter(({ version }) => !known.has(String(version))).map(({ version }) => el("option", { value: version }, `Version ${version}`)));
    }
  };
  const load = (cursor) => get(`${address}/versions?${new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
  const pages = paged({ load, draw, signal });
  await pages.read();
  for (const choice of [from, to]) choice.addEventListener("change", show);
  comparison.hidden = skill.version === 1;
  if (skill.version > 1) await choose(skill.version - 1, skill.version);
  return el("div", {}, el("div", { class: "part" }, node, pages.node), comparison);
}

function line(item, context, compare) {
  const { skill, me } = context;
  const isCurrent = item.version === skill.version;
  const button = (verb, act) => el("button", { type: "button", class: "quiet", "aria-label": `${verb}: version ${item.version}`, onclick: act }, verb);
  const author = item.author === null ? "the release" : item.author === me.id ? "you" : el("span", { title: item.author }, `user ${item.author.slice(-12)}`);
  const node = row(COLUMNS, [
    el("div", {}, el("strong", {}, String(item.version)), isCurrent ? [" ", badge("current", "good")] : null),
    author, item.reason ? el("div", {}, visible(item.reason)) : "", moment(item.created_at),
    el("div", {}, button("Text", () => read(item, context).catch(complain)), item.version > 1 ? button("Changes", () => compare(item.version)) : null,
      isCurrent ? null : button("Restore", () => restore(item, context))),
  ]);
  node.dataset.version = item.version;
  return node;
}

async function read(item, { address }) {
  const { content } = await get(`${address}/versions/${item.version}`);
  open(`Version ${item.version} of ${visible(item.name)}`, el("pre", { tabindex: "0", "aria-label": "Text of the version" }, visible(content)));
}

function restore(item, { address, reload }) {
  const reason = el("input", { name: "reason", maxlength: "500", autocomplete: "off" });
  formDialog(`Restore version ${item.version}?`, [
    el("p", {}, "Its text and its name become a new version, which is scanned like any other."), field("Why (optional)", reason),
  ], "Restore", async () => {
    const body = { version: item.version, reason: reason.value.trim() || undefined };
    const made = await post(`${address}/rollback`, body);
    say(`Version ${item.version} is restored as version ${made.version}.`);
    await reload();
  });
}
