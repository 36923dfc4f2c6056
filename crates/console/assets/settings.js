// Settings of the installation, and preferences by scope.

import { get, orRefresh, put, remove } from "./api.js";
import { showChanges } from "./change-log.js";
import { confirm, formDialog } from "./dialog.js";
import { el, fill, moment, nothing, row, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { paged } from "./pager.js";
import * as preferences from "./preferences.js";
import { rowVerbs } from "./row-verbs.js";
import { valueCell, valueFields } from "./value-fields.js";

export const title = "Settings";

const COLUMNS = ["Setting", "Value", "Version", "Set", ""];
const PAGE = 50;

export async function create(context) {
  return el("div", {}, await settingsPart(context), await preferences.create(context));
}

async function settingsPart({ me, signal }) {
  const { node, body } = table("Settings", COLUMNS);
  const empty = nothing("No setting is set: the defaults apply.");
  const draw = (items) => {
    fill(body, ...items.map((each) => line(each, me, pages.read)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const load = (cursor) => get(`/v1/settings?${new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
  const pages = paged({ load, draw, signal, labels: ["Previous", "Next"] });
  await pages.read();
  const add = el("button", { type: "button", class: "main", "data-verb": "new-setting", onclick: () => edit(null, pages.read) }, "New setting");
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, title), me.is_admin ? add : null),
    el("p", { class: "soft" }, "They apply to the installation. ", el("code", {}, "cynork settings list --known"), " prints what can be set; without a setting, its default applies."),
    node, empty, pages.node);
}

const address = (key) => `/v1/settings/${encodeURIComponent(key)}`;

function line(each, me, refresh) {
  const name = visible(each.key);
  const drop = () => confirm(`Remove ${name}?`, "Its default applies again.", "Remove", async () => {
    await remove(address(each.key));
    say(`${each.key} is removed.`);
    await refresh();
  }, "Keep it");
  const node = row(COLUMNS, [
    el("div", {}, el("span", { class: "mono" }, name)), valueCell(each.value), String(each.version), moment(each.updated_at),
    me.is_admin ? rowVerbs(name, [["Edit", () => edit(each, refresh)], ["History", () => showChanges(`History of ${name}`, `${address(each.key)}/changes`)], ["Remove", drop]]) : "",
  ]);
  node.dataset.setting = each.key;
  return node;
}

function edit(each, refresh) {
  const fields = valueFields(each);
  formDialog(each ? `Change ${visible(each.key)}` : "New setting", fields.nodes, "Set", async () => {
    const made = await orRefresh(refresh, put(address(fields.key()), fields.body()));
    say(`${made.key} is set.`);
    await refresh();
  });
}
