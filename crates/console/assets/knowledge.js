// The knowledge of a project, in one profile: search with citations, the sources, and their documents.

import { get, remove } from "./api.js";
import { confirm } from "./dialog.js";
import { badge, el, fill, moment, nothing, row, table, visible } from "./dom.js";
import { addFiles, addText } from "./knowledge-form.js";
import { complain, reasons, say } from "./notices.js";
import { paged } from "./pager.js";
import { profileChoice } from "./profile-choice.js";
import { projectAddress } from "./words.js";

export const title = "Knowledge";

const SOURCE_COLUMNS = ["Source", "Documents", "Passages", "Size", "Last change", ""];
const DOCUMENT_COLUMNS = ["Document", "Kind", "Passages", "Size", "Last change", ""];
/** How many documents a page has, and how many results a search, at first and on request. */
const [PAGE, FIRST_MATCHES, MOST_MATCHES] = [50, 5, 50];

export async function create({ project, address, mayChange, query, signal }) {
  const profile = profileChoice(await get(`${address}/profiles`), query.get("profile"));
  const here = (wanted = {}) => {
    const state = new URLSearchParams(wanted);
    if (profile.value !== profile.dataset.first) state.set("profile", profile.value);
    return `${projectAddress(project.id, "knowledge")}${state.size ? `?${state}` : ""}`;
  };
  const context = {
    mayChange, signal, here, source: query.get("source"),
    /** The address of a route with the profile and other parameters. */
    path: (route, wanted = {}) => `${address}/${route}?${new URLSearchParams({ profile: profile.value, ...wanted })}`,
  };
  const found = searchPart(context, profile, query.get("q") ?? "");
  const sources = await (context.source === null ? sourcesPart(context) : documentsPart(context));
  return el("div", { class: "part" }, el("h2", {}, title), found, sources);
}

/** The search, and what it found. */
function searchPart(context, profile, words) {
  const search = el("input", { type: "search", name: "q", required: true, placeholder: "Ask or search", "aria-label": "Search the knowledge", maxlength: "1000" });
  search.value = words;
  const results = el("div", { "aria-live": "polite" });
  const form = el("form", { class: "toolbar", role: "search" }, search, profile, el("button", { type: "submit" }, "Search"));
  let asked = 0;
  const look = async (limit = FIRST_MATCHES) => {
    const ticket = ++asked;
    const more = el("button", { type: "button", onclick: () => look(MOST_MATCHES) }, "More results");
    try {
      const { items } = await get(context.path("knowledge-search", { q: search.value.trim(), limit }));
      if (ticket !== asked || context.signal.aborted) return;
      fill(results, items.length ? el("ol", { class: "cards", "aria-label": "Passages, the best first" }, items.map(passage)) : nothing("No passage matches."),
        items.length === FIRST_MATCHES ? el("div", { class: "more" }, more) : null);
    } catch (error) {
      if (ticket === asked) fill(results, el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
  };
  context.searchAgain = () => results.childElementCount && look();
  profile.addEventListener("change", () => (location.hash = context.here(search.value.trim() ? { q: search.value.trim() } : {})));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = { q: search.value.trim(), ...(context.source === null ? {} : { source: context.source }) };
    history.replaceState(null, "", context.here(wanted));
    look();
  });
  if (words.trim()) look();
  return el("div", {}, form, results);
}

/** A passage with its citation; its text comes from a document, and is shown as text. */
function passage({ source, path, heading, first_line: first, last_line: last, text }) {
  const node = el("li", { class: "card" },
    el("div", { class: "card-head" }, el("code", { class: "citation" }, `${visible(path)}:${first}-${last}`), badge(source), heading ? el("span", { class: "soft" }, visible(heading)) : null),
    el("pre", { tabindex: "0", "aria-label": `Passage of ${visible(path)}` }, visible(text)));
  node.dataset.passage = path;
  return node;
}

async function sourcesPart(context) {
  const { node, body } = table("Sources", SOURCE_COLUMNS);
  const count = el("p", { class: "count", role: "status" });
  const empty = nothing("Nothing is known in this profile.");
  const read = async () => {
    const now = await get(context.path("knowledge-sources"));
    if (context.signal.aborted) return;
    fill(body, ...now.sources.map((each) => sourceLine(each, context, refresh)));
    [node.hidden, empty.hidden] = [now.sources.length === 0, now.sources.length > 0];
    fill(count, `${counted(now.documents, "document")}, ${counted(now.passages, "passage")}, ${size(now.bytes)}`);
  };
  const refresh = () => Promise.all([read(), context.searchAgain()]).catch(complain);
  await read();
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Sources"), count, context.mayChange ? adders("", context, refresh) : null), node, empty);
}

function sourceLine(each, context, refresh) {
  const name = visible(each.source);
  const words = `${counted(each.documents, "document")} can no longer be found by agents of this profile.`;
  const node = row(SOURCE_COLUMNS, [
    el("div", {}, el("a", { href: context.here({ source: each.source }) }, name)),
    String(each.documents), String(each.passages), size(each.bytes), moment(each.updated_at),
    context.mayChange ? deleter(name, words, context.path("knowledge", { source: each.source }), refresh) : "",
  ]);
  node.dataset.source = each.source;
  return node;
}

async function documentsPart(context) {
  const { node, body } = table("Documents", DOCUMENT_COLUMNS);
  const empty = nothing("This source has no documents.");
  const draw = (items) => {
    fill(body, ...items.map((each) => documentLine(each, context, refresh)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const load = (cursor) => get(context.path("knowledge", { source: context.source, limit: PAGE, ...(cursor ? { cursor } : {}) }));
  const pages = paged({ load, draw, signal: context.signal, labels: ["Previous", "Next"] });
  const refresh = () => Promise.all([pages.read(), context.searchAgain()]).catch(complain);
  await pages.read();
  return el("section", { class: "part" },
    el("p", { class: "crumb" }, el("a", { href: context.here() }, "All sources")),
    el("div", { class: "head" }, el("h2", {}, visible(context.source)), context.mayChange ? adders(context.source, context, refresh) : null),
    node, empty, pages.node);
}

function documentLine(each, context, refresh) {
  const name = visible(each.path);
  const node = row(DOCUMENT_COLUMNS, [
    el("div", {}, el("span", { class: "mono" }, name), each.author === "model" ? [" ", badge("unconfirmed: given by a model", "warn")] : null),
    each.kind, String(each.passages), size(each.bytes), moment(each.updated_at),
    context.mayChange ? deleter(name, "Agents of this profile no longer find it.", context.path("knowledge", { source: each.source, path: each.path }), refresh) : "",
  ]);
  node.dataset.document = each.path;
  return node;
}

function deleter(name, words, path, refresh) {
  const drop = () => confirm(`Delete ${name}?`, words, "Delete", async () => {
    const { deleted } = await remove(path);
    say(`${counted(deleted, "document")} deleted.`);
    await refresh();
  }, "Keep it");
  return el("div", {}, el("button", { type: "button", class: "quiet", "aria-label": `Delete ${name}`, onclick: drop }, "Delete"));
}

const adders = (source, context, refresh) => el("div", { class: "verbs" },
  el("button", { type: "button", onclick: () => addFiles(context.path("knowledge"), source, refresh) }, "Add files"),
  el("button", { type: "button", onclick: () => addText(context.path("knowledge"), source, refresh) }, "Add a text"));

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

function size(bytes) {
  if (bytes < 1024) return `${bytes}\u00a0B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)}\u00a0KiB` : `${(bytes / 1024 / 1024).toFixed(1)}\u00a0MiB`;
}
