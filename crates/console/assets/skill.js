// One skill: its text, what the scan found in it, and its versions.

import { get, post, Refusal, remove } from "./api.js";
import { confirm } from "./dialog.js";
import { badge, el, field, fill, nothing, row, table, tabs, visible } from "./dom.js";
import { complain, reasons, say } from "./notices.js";
import { editSkill, SKILL_SCOPES } from "./skill-form.js";
import * as versions from "./versions.js";
import { skillAddress, plain, wordsFor } from "./words.js";

const PARTS = { text: { title: "Text" }, versions };
const FINDING_COLUMNS = ["Rule", "Category", "Why", "Passage"];
/** The most skills that one answer of the server lists. */
const PAGE = 200;

export async function render({ path: [id, name], me, signal, reload }) {
  const skill = await findSkill(id);
  const mayChange = me.is_admin || skill.owner === me.id;
  const chosen = mayChange && name === "versions" ? "versions" : "text";
  document.title = `${visible(skill.name)} · CyNode`;
  const address = `/v1/skills/${encodeURIComponent(skill.id)}`;
  const { text, why } = await loadText(skill, address, mayChange);
  const context = { skill, address, text, why, me, signal, mayChange, reload };
  const part = chosen === "versions" ? await versions.create(context) : textPart(text);
  return el("section", {},
    el("p", { class: "crumb" }, el("a", { href: "#/skills" }, "Skills")),
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, visible(skill.name)), mayChange ? verbs(context) : null),
    el("p", { class: "state" }, why ? badge("in quarantine", "bad") : badge("delivered", "good"),
      el("span", { class: "soft" }, ` version ${skill.version} · readers: ${wordsFor(SKILL_SCOPES, skill.scope).toLowerCase()} · owner: `, ownerWords(skill, me))),
    why ? quarantine(context) : null,
    mayChange ? tabs("Parts of the skill", PARTS, chosen, (key) => skillAddress(id, key === "text" ? "" : key)) : null, part);
}

/** The skill as lists have it: only they say what the scan found. */
async function findSkill(id) {
  let cursor = null;
  do {
    const wanted = new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) });
    const page = await get(`/v1/skills?${wanted}`);
    const found = page.items.find((skill) => skill.id === id);
    if (found) return found;
    cursor = page.next_cursor;
  } while (cursor);
  throw new Refusal(404, { detail: "There is no such skill." });
}

/** The text of a skill. In quarantine it is for those who may change it, and `why` says what is wrong with it. */
async function loadText(skill, address, mayChange) {
  try {
    return { text: (await get(address)).content, why: null };
  } catch (error) {
    if (error.status !== 400) throw error;
    const text = mayChange ? (await get(`${address}/versions/${skill.version}`)).content : null;
    return { text, why: error };
  }
}

/** Who owns a skill; the one of the release has no owner. */
export function ownerWords(skill, me) {
  if (skill.owner === null) return "the release";
  return skill.owner === me.id ? "you" : el("span", { title: skill.owner }, `user ${skill.owner.slice(-12)}`);
}

function textPart(text) {
  if (text === null) return nothing("The text is not shown while it is in quarantine.");
  return el("div", { class: "part" }, el("pre", { class: "log", tabindex: "0", "aria-label": "Text of the skill" }, visible(text)));
}

function verbs({ skill, address, text, me, reload }) {
  const isSystem = skill.owner === null;
  const edit = el("button", { type: "button", onclick: () => editSkill(skill, text, me, reload) }, "Change");
  const words = isSystem ? "The text of the release replaces it, as a new version." : "Agents no longer get it, and its versions are deleted too.";
  const drop = () => confirm(isSystem ? "Restore the text of the release?" : `Delete ${visible(skill.name)}?`, words, isSystem ? "Restore" : "Delete", async () => {
    await remove(address);
    say(isSystem ? "The text of the release is restored." : `${skill.name} is deleted.`);
    if (isSystem) await reload();
    else location.hash = "#/skills";
  }, "Keep it");
  return el("div", { class: "verbs" }, edit, el("button", { type: "button", class: "danger", onclick: drop }, isSystem ? "Restore the release" : "Delete"));
}

/** Why agents do not get the skill, and what a person can do. */
function quarantine(context) {
  const { skill, why, me, mayChange } = context;
  const { node, body } = table("Findings of the scan", FINDING_COLUMNS);
  const found = skill.quarantine ?? [];
  fill(body, ...found.map(({ rule, category, reason, text }) => row(FINDING_COLUMNS, [
    el("code", {}, visible(rule)), plain(category), el("div", {}, visible(reason)), el("div", {}, el("code", {}, visible(text))),
  ])));
  const whoChanges = mayChange ? "Change its text" : "Its owner can change it";
  const hint = `${whoChanges}, or ${me.is_admin ? "release it" : "an administrator can release it"}.`;
  return el("section", { class: "card asks", "aria-label": "Quarantine" },
    el("p", {}, "The scan rejects the text, so agents do not get it. ", hint),
    found.length ? node : mayChange ? el("div", { class: "trouble" }, ...reasons(why)) : null,
    me.is_admin ? releaseForm(context) : null);
}

function releaseForm({ skill, address, reload }) {
  const reason = el("input", { name: "release", required: true, maxlength: "500", autocomplete: "off" });
  const release = el("button", { type: "submit" }, "Release it");
  return el("form", { class: "answer", onsubmit: async (event) => {
    event.preventDefault();
    release.disabled = true;
    try {
      await post(`${address}/release`, { reason: reason.value.trim() });
      say(`${skill.name} is released.`);
      await reload();
    } catch (error) {
      release.disabled = false;
      complain(error);
    }
  } }, field("Why it is harmless", reason, "Recorded in the audit log. The release counts for this text and these findings."), el("div", { class: "actions" }, release));
}
