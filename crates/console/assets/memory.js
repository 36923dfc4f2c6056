// The memory of a project, in one profile: list, search, and what a person can do with an entry.

import { get, orRefresh, patch, post, remove } from "./api.js";
import { confirm, formDialog } from "./dialog.js";
import { badge, el, field, fill, KeyedList, select, visible } from "./dom.js";
import { complain, say } from "./notices.js";
import { paged } from "./pager.js";
import { profileChoice } from "./profile-choice.js";
import { age, projectAddress } from "./words.js";

export const title = "Memory";

const KINDS = [["decision", "Decision"], ["convention", "Convention"], ["failure", "Failure"], ["fact", "Fact"]];
/** How many entries a page has, which is the most results of a search too. */
const PAGE = 50;

export async function create({ project, address, mayChange, query, signal }) {
  const profiles = await get(`${address}/profiles`);
  const profile = profileChoice(profiles, query.get("profile"));
  const search = el("input", { type: "search", name: "q", placeholder: "Search words", "aria-label": "Search the memory", maxlength: "400" });
  search.value = query.get("q") ?? "";
  const kind = select({ "aria-label": "Kind" }, [["", "All kinds"], ...KINDS], query.get("kind") ?? "");
  const filters = el("form", { class: "toolbar", role: "search" }, search, profile, kind, el("button", { type: "submit" }, "Search"));
  const cards = el("div", { class: "cards" });
  const note = el("p", { class: "hint", role: "status" });
  const empty = el("p", { class: "nothing" });
  const context = { address: `${address}/memory`, suffix: () => `?${new URLSearchParams({ profile: profile.value })}`, mayChange };
  const list = new KeyedList(cards, (entry) => entry.id, (entry) => card(entry, context));

  const load = async (cursor) => {
    const wanted = new URLSearchParams({ profile: profile.value, limit: PAGE });
    if (search.value.trim()) {
      wanted.set("q", search.value.trim());
      const { items } = await get(`${address}/memory-search?${wanted}`);
      return { items: items.filter((entry) => !kind.value || entry.kind === kind.value) };
    }
    if (kind.value) wanted.set("kind", kind.value);
    if (cursor) wanted.set("cursor", cursor);
    return get(`${address}/memory?${wanted}`);
  };
  const draw = (items) => {
    list.draw(items);
    const isSearch = search.value.trim() !== "";
    const matches = `${items.length} ${items.length === 1 ? "match" : "matches"}, the best first`;
    fill(note, isSearch && items.length ? `${matches}${kind.value ? `; of the ${PAGE} best of all kinds` : ""}.` : null);
    fill(empty, items.length ? null : isSearch || kind.value ? "No entry matches." : "Nothing is remembered in this profile.");
  };
  const pages = paged({ load, draw, signal });
  context.refresh = () => pages.read().catch(complain);
  const filter = (event) => {
    event?.preventDefault();
    const state = new URLSearchParams();
    if (profile.value !== profile.dataset.first) state.set("profile", profile.value);
    if (kind.value) state.set("kind", kind.value);
    if (search.value.trim()) state.set("q", search.value.trim());
    history.replaceState(null, "", `${projectAddress(project.id, "memory")}${state.size ? `?${state}` : ""}`);
    return pages.restart();
  };
  filters.addEventListener("submit", filter);
  for (const control of [profile, kind]) control.addEventListener("change", filter);
  await pages.read();
  const add = el("button", { type: "button", class: "main", onclick: () => editEntry(null, context) }, "Add an entry");
  return el("div", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, title), mayChange ? add : null),
    filters, note, cards, empty, pages.node);
}

function card(entry, context) {
  const node = el("article", { class: "card" },
    el("div", { class: "card-head" }, badge(entry.kind), el("strong", {}, visible(entry.title)), authorBadge(entry),
      el("span", { class: "soft", title: entry.updated_at }, age(entry.updated_at))),
    entry.text ? el("p", { class: "prose" }, visible(entry.text)) : null,
    source(entry), context.mayChange ? actions(entry, context) : null);
  node.dataset.entry = entry.id;
  node.dataset.author = entry.author;
  return node;
}

/** What a model wrote is data of a stranger until a person vouches for it. */
function authorBadge({ author }) {
  if (author === "model") return badge("unconfirmed: written by a model", "warn");
  return badge(author === "rule" ? "recorded by rule" : "written by a person");
}

function source({ source: from }) {
  const parts = [from.agent ? `agent ${visible(from.agent)}` : null, from.step ? `step ${visible(from.step)}` : null, from.task_id ? `task ${visible(from.task_id)}` : null];
  const known = parts.filter(Boolean);
  return known.length ? el("p", { class: "soft" }, known.join(" · ")) : null;
}

function actions(entry, context) {
  const path = `${context.address}/${encodeURIComponent(entry.id)}${context.suffix()}`;
  const name = visible(entry.title);
  const button = (verb, label, act) => {
    const node = el("button", { type: "button", class: "quiet", "aria-label": `${label} “${name}”`, onclick: act }, label);
    node.dataset.verb = verb;
    return node;
  };
  const promote = async ({ target }) => {
    target.disabled = true;
    try {
      // Only what was read is confirmed: the server refuses if an agent changed it meanwhile.
      await patch(path, { promote: true, revision: entry.revision });
      say(`You vouch for “${entry.title}”.`);
    } catch (error) {
      complain(error);
    }
    target.disabled = false;
    await context.refresh();
    document.querySelector(`[data-entry="${CSS.escape(entry.id)}"] button`)?.focus();
  };
  const drop = () => confirm(`Delete “${name}”?`, "Agents of this profile no longer find it. It cannot be restored.", "Delete", async () => {
    await remove(path);
    say("The entry is deleted.");
    await context.refresh();
  }, "Keep it");
  return el("div", { class: "actions" },
    entry.author === "model" ? button("promote", "Confirm", promote) : null,
    button("edit", "Edit", () => editEntry(entry, context)), button("delete", "Delete", drop));
}

/** The form for an entry, or for a new one. */
function editEntry(entry, context) {
  const kind = select({ name: "kind" }, KINDS, entry?.kind ?? "decision");
  const heading = Object.assign(el("input", { name: "title", required: true, maxlength: "200", autocomplete: "off" }), { value: entry?.title ?? "" });
  const text = Object.assign(el("textarea", { name: "text", rows: "8" }), { value: entry?.text ?? "" });
  const help = entry && entry.author !== "person" ? "If you change the text, you become its author." : "At most 4096 bytes. Secrets are redacted.";
  // As the controls have them: a browser changes the ends of lines.
  const before = [kind.value, heading.value, text.value];
  const changes = () => {
    const [kindNow, titleNow, textNow] = [kind, heading, text].map(({ value }, index) => (value === before[index] ? undefined : value));
    return { kind: kindNow, title: titleNow, text: textNow, revision: entry.revision };
  };
  formDialog(entry ? "Change an entry" : "Add an entry", [field("Kind", kind), field("Title", heading), field("Text", text, help)], entry ? "Save" : "Add", async () => {
    if (entry) await orRefresh(context.refresh, patch(`${context.address}/${encodeURIComponent(entry.id)}${context.suffix()}`, changes()));
    else await post(`${context.address}${context.suffix()}`, { kind: kind.value, title: heading.value.trim(), text: text.value });
    say(entry ? `“${heading.value.trim()}” is changed.` : `“${heading.value.trim()}” is remembered.`);
    await context.refresh();
  });
}
