// The profiles of a project: what its agents may use.

import { get, remove } from "./api.js";
import { confirm, open } from "./dialog.js";
import { badge, dollars, el, facts, fill, moment, row, table, visible } from "./dom.js";
import { complain, say } from "./notices.js";
import { editProfile, MEMORY, memoryOf } from "./profile-form.js";
import { wordsFor } from "./words.js";

export const title = "Profiles";

const COLUMNS = ["Profile", "Tools", "Hosts", "Models", "Limits", "Memory", ""];
/** How many entries of a list a row shows. */
const FEW = 3;

export async function create({ address, mayChange, signal }) {
  const { node, body } = table("Profiles", COLUMNS);
  const read = async () => {
    const found = await get(`${address}/profiles`);
    if (!signal.aborted) fill(body, ...found.map((profile) => line(profile, { address, mayChange, refresh })));
  };
  const refresh = () => read().catch(complain);
  await read();
  const add = el("button", { type: "button", class: "main", onclick: () => editProfile(address, null, refresh) }, "New profile");
  return el("div", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, title), mayChange ? add : null),
    el("p", { class: "soft" }, "A profile narrows what roles and rules allow to agents. Each has a memory and knowledge of its own. Work that names none uses the default one."),
    node);
}

function line(profile, context) {
  const { spec } = profile;
  const node = row(COLUMNS, [
    el("div", {}, el("button", { type: "button", class: "link mono", onclick: () => details(profile) }, visible(profile.name)),
      profile.is_default ? [" ", badge("default")] : null, el("span", { class: "about" }, visible(spec.description ?? ""))),
    few(spec.tools), few(spec.hosts), few(spec.models), limits(spec.limits ?? {}).join(", ") || "those of the task",
    wordsFor(MEMORY, memoryOf(spec)), context.mayChange ? actions(profile, context) : "",
  ]);
  node.dataset.profile = profile.name;
  return node;
}

function few(list) {
  if (!list) return "unrestricted";
  if (!list.length) return badge("none", "warn");
  const left = list.length > FEW ? `, and ${list.length - FEW} more` : "";
  return el("span", {}, el("code", { class: "target" }, list.slice(0, FEW).map(visible).join(", ")), left);
}

function limits({ timeout_s: timeout, memory_mib: memory, budget_micros: budget }) {
  return [
    timeout === undefined ? null : `${timeout.toLocaleString("en")} s`,
    memory === undefined ? null : `${memory.toLocaleString("en")} MiB`,
    budget === undefined ? null : `${dollars(budget)} a run`,
  ].filter((limit) => limit !== null);
}

function actions(profile, { address, refresh }) {
  const name = visible(profile.name);
  const button = (verb, act) => el("button", { type: "button", class: "quiet", "aria-label": `${verb} ${name}`, onclick: act }, verb);
  const drop = () => {
    const words = "Its memory is deleted too, and the tokens of its agents are revoked. A profile that has documents, or that open tasks use, is kept.";
    confirm(`Delete the profile ${name}?`, words, "Delete", async () => {
      await remove(`${address}/profiles/${encodeURIComponent(profile.id)}`);
      say(`${profile.name} is deleted.`);
      await refresh();
    }, "Keep it");
  };
  return el("div", {}, button("Edit", () => editProfile(address, profile, refresh)), profile.is_default ? null : button("Delete", drop));
}

/** Everything that a profile says. */
function details(profile) {
  const { spec } = profile;
  const whole = (list) => (!list ? "unrestricted" : list.length ? el("ul", { class: "plain mono" }, list.map((item) => el("li", {}, visible(item)))) : "none");
  open(visible(profile.name),
    spec.description ? el("p", { class: "prose" }, visible(spec.description)) : null,
    facts([
      ["Tools", whole(spec.tools)], ["Hosts", whole(spec.hosts)], ["Models", whole(spec.models)],
      ["Limits", limits(spec.limits ?? {}).join(", ") || "those of the task"], ["Memory", wordsFor(MEMORY, memoryOf(spec))],
      ["Revision", String(profile.revision)], ["Last change", moment(profile.updated_at)], ["Id", el("code", {}, profile.id)],
    ]));
}
