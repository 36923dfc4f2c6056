// Preferences of a scope, and those that are in effect.

import { get, orRefresh, put, remove } from "./api.js";
import { showChanges } from "./change-log.js";
import { confirm, formDialog } from "./dialog.js";
import { badge, el, fill, moment, nothing, row, select, table, visible } from "./dom.js";
import { complain, reasons, say } from "./notices.js";
import { paged } from "./pager.js";
import { rowVerbs } from "./row-verbs.js";
import { subjectId } from "./subject-id.js";
import { valueCell, valueFields } from "./value-fields.js";

const COLUMNS = ["Preference", "Value", "Version", "Set", ""];
const EFFECTIVE_COLUMNS = ["Preference", "Value", "From"];
const VIEWS = [
  ["effective", "In effect for you"], ["effective-project", "In effect in a project"], ["effective-task", "In effect for a task"],
  ["user", "Your own"], ["system", "Of the installation"], ["group", "Of a group"], ["project", "Of a project"], ["task", "Of a task"],
];
const FROM = { system: "the installation", group: "a group", user: "the user", project: "the project", task: "the task" };
const PAGE = 50;

export async function create({ me, query, signal }) {
  const chosen = VIEWS.some(([name]) => name === query.get("show")) ? query.get("show") : "effective";
  const view = select({ "aria-label": "Which preferences" }, VIEWS, chosen);
  const name = el("input", { type: "search", name: "of", "aria-label": "Name or id", placeholder: "Name or id", autocapitalize: "none", spellcheck: "false", maxlength: "200" });
  name.value = query.get("of") ?? "";
  const show = el("button", { type: "submit" }, "Show");
  const filters = el("form", { class: "toolbar", role: "search" }, view, name, show);
  const add = el("button", { type: "button", class: "main", "data-verb": "new-preference" }, "New preference");
  const content = el("div");
  let asked = 0;
  /** The kind of the group, project or task that the preferences belong to. */
  const subject = () => view.value.replace("effective-", "");
  const isNamed = () => ["group", "project", "task"].includes(subject());

  const read = async () => {
    const ticket = ++asked;
    [name.hidden, show.hidden, add.hidden] = [!isNamed(), !isNamed(), true];
    name.required = isNamed();
    if (isNamed() && !name.value.trim()) return fill(content, nothing(`Which ${subject()}? Give its name or id.`));
    try {
      const id = isNamed() ? await subjectId(subject(), name.value.trim()) : undefined;
      const isEffective = view.value.startsWith("effective");
      const scope = { type: view.value, id, mayWrite: me.is_admin || !["system", "group"].includes(view.value) };
      const part = isEffective ? await effective(subject(), id) : await listed(scope, signal);
      if (ticket !== asked || signal.aborted) return;
      add.hidden = isEffective || !scope.mayWrite;
      add.onclick = () => edit(null, scope, part.read);
      fill(content, part.node);
    } catch (error) {
      if (ticket === asked) fill(content, el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
  };
  const choose = (event) => {
    event.preventDefault();
    const state = new URLSearchParams(view.value === "effective" ? {} : { show: view.value });
    if (isNamed() && name.value.trim()) state.set("of", name.value.trim());
    history.replaceState(null, "", `#/admin/settings${state.size ? `?${state}` : ""}`);
    read().catch(complain);
  };
  filters.addEventListener("submit", choose);
  view.addEventListener("change", choose);
  await read();
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Preferences"), add),
    el("p", { class: "soft" }, "A task overrides its project, that one its user, then the groups of the user, then the installation. ", el("code", {}, "cynork prefs list --known"), " prints what can be set."),
    filters, content);
}

async function effective(kind, id) {
  const { node, body } = table("Preferences in effect", EFFECTIVE_COLUMNS);
  const found = await get(`/v1/effective-preferences?${new URLSearchParams(id ? { [kind]: id } : {})}`);
  const lines = Object.entries(found.effective).map(([key, value]) => {
    const source = found.sources?.[key];
    const line = row(EFFECTIVE_COLUMNS, [
      el("div", {}, el("span", { class: "mono" }, visible(key))), value === null ? badge("hidden") : valueCell(value),
      source ? el("span", { title: source.scope_id }, `${FROM[source.scope_type] ?? source.scope_type}, version ${source.version}`) : "",
    ]);
    line.dataset.preference = key;
    return line;
  });
  fill(body, ...lines);
  const skipped = found.skipped.map((each) => el("p", { class: "fault" }, `${visible(each.key)} of ${FROM[each.scope_type] ?? each.scope_type} is skipped: ${visible(each.reason)}`));
  return { node: el("div", {}, lines.length ? node : nothing("No preference is set: the defaults apply."), skipped) };
}

/** The parameters of a scope. */
const parameters = ({ type, id }) => ({ scope_type: type, ...(id ? { scope_id: id } : {}) });

async function listed(scope, signal) {
  const { node, body } = table("Preferences", COLUMNS);
  const empty = nothing("No preference is set here.");
  const draw = (items) => {
    fill(body, ...items.map((each) => line(each, scope, pages.read)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const load = (cursor) => get(`/v1/preferences?${new URLSearchParams({ ...parameters(scope), limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
  const pages = paged({ load, draw, signal, labels: ["Previous", "Next"] });
  await pages.read();
  return { node: el("div", {}, node, empty, pages.node), read: pages.read };
}

const address = (key) => `/v1/preferences/${encodeURIComponent(key)}`;

function line(each, scope, refresh) {
  const name = visible(each.key);
  const suffix = new URLSearchParams(parameters(scope));
  const drop = () => confirm(`Unset ${name}?`, "The value of a weaker scope, or the default, applies again.", "Unset", async () => {
    await remove(`${address(each.key)}?${suffix}`);
    say(`${each.key} is unset.`);
    await refresh();
  }, "Keep it");
  const node = row(COLUMNS, [
    el("div", {}, el("span", { class: "mono" }, name)), valueCell(each.value), String(each.version), moment(each.updated_at),
    scope.mayWrite ? rowVerbs(name, [
      ["Edit", () => edit(each, scope, refresh)], ["History", () => showChanges(`History of ${name}`, `${address(each.key)}/changes?${suffix}`)], ["Unset", drop],
    ]) : "",
  ]);
  node.dataset.preference = each.key;
  return node;
}

function edit(each, scope, refresh) {
  const fields = valueFields(each);
  formDialog(each ? `Change ${visible(each.key)}` : "New preference", fields.nodes, "Set", async () => {
    const made = await orRefresh(refresh, put(address(fields.key()), { ...parameters(scope), ...fields.body() }));
    say(`${made.key} is set.`);
    await refresh();
  });
}
