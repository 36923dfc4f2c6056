// How a person is notified: the channels, and what was delivered through them.

import { get, patch, post, remove } from "./api.js";
import { confirm, formDialog } from "./dialog.js";
import { badge, el, field, fill, moment, nothing, row, select, table, visible } from "./dom.js";
import { say } from "./notices.js";
import { paged } from "./pager.js";
import { rowVerbs } from "./row-verbs.js";
import { showSecret } from "./secret-dialog.js";
import * as smtp from "./smtp.js";
import { plain, requestAddress, wordsFor } from "./words.js";

export const title = "Notifications";

const CHANNELS = "/v1/notifications/channels";
const DELIVERIES = "/v1/notifications/deliveries";
const COLUMNS = ["Channel", "Delivers to", "What", "State", "Last delivery", ""];
const DELIVERY_COLUMNS = ["Notification", "Channel", "State", "Attempts", "Created", ""];
const KINDS = [["webhook", "Webhook"], ["slack", "Slack or compatible"], ["email", "E-mail"]];
const NOTICES = [
  ["question", "Questions"], ["approval", "Approvals"], ["escalation", "Escalations"], ["tool_changed", "Changed tools"], ["budget_stop", "Spent budgets"], ["request_ended", "Requests that end"],
];
const STATES = [["", "All states"], ["pending", "Pending"], ["delivered", "Delivered"], ["dead", "Given up"]];
const TONES = { delivered: "good", dead: "bad" };
const PAGE = 20;

export async function create({ me, signal }) {
  const deliveries = deliveriesPart(signal);
  const channels = await channelsPart(signal, deliveries.read);
  await deliveries.read();
  return el("div", {}, channels, deliveries.node, me.is_admin ? await smtp.create(signal) : null);
}

async function channelsPart(signal, changed) {
  const { node, body } = table("Your channels", COLUMNS);
  const empty = nothing("You have no channels: nothing is sent to you.");
  const read = async () => {
    const { items } = await get(CHANNELS);
    if (signal.aborted) return;
    fill(body, ...items.map((each) => line(each, () => Promise.all([read(), changed()]))));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  await read();
  const add = el("button", { type: "button", class: "main", "data-verb": "new-channel", onclick: () => createChannel(read) }, "New channel");
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Your channels"), add),
    el("p", { class: "soft" }, "A channel delivers what needs you, and which of your requests end. Only you see it."), node, empty);
}

function line(each, refresh) {
  const name = visible(each.name);
  const address = `${CHANNELS}/${encodeURIComponent(each.id)}`;
  const test = async () => {
    try {
      await post(`${address}/test`);
      say(`The test was delivered through ${each.name}.`);
    } finally {
      await refresh();
    }
  };
  const flip = async () => {
    await patch(address, { is_enabled: !each.is_enabled });
    say(`${each.name} is ${each.is_enabled ? "disabled" : "enabled"}.`);
    await refresh();
  };
  const drop = () => confirm(`Delete the channel ${name}?`, "Its deliveries are deleted too.", "Delete", async () => {
    await remove(address);
    say(`${each.name} is deleted.`);
    await refresh();
  }, "Keep it");
  const node = row(COLUMNS, [
    el("div", {}, el("strong", {}, name), el("span", { class: "about" }, wordsFor(KINDS, each.kind))), el("div", {}, visible(each.target)),
    el("div", {}, each.notices.length ? each.notices.map((notice) => wordsFor(NOTICES, notice)).join(", ") : "everything", each.project_id ? el("span", { class: "about" }, "of one project") : null),
    el("div", {}, each.is_enabled ? badge(each.failures ? "fails" : "enabled", each.failures ? "bad" : "good") : badge("disabled"),
      each.last_error ? el("p", { class: "fault" }, visible(each.last_error)) : null),
    each.last_delivered_at ? moment(each.last_delivered_at) : "never",
    rowVerbs(name, [["Test", test], [each.is_enabled ? "Disable" : "Enable", flip], ["Delete", drop]]),
  ]);
  node.dataset.channel = each.name;
  return node;
}

function createChannel(refresh) {
  const input = (attributes) => el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
  const name = input({ name: "name", required: true, pattern: "[a-z0-9]+(-[a-z0-9]+)*", title: "lowercase letters, digits and single dashes" });
  const kind = select({ name: "kind" }, KINDS, "webhook");
  // Who knows the URL can send to it.
  const url = el("input", { name: "url", type: "password", autocomplete: "new-password" });
  const mail = input({ name: "address", type: "email" });
  const key = el("input", { name: "key", type: "password", autocomplete: "new-password" });
  const project = input({ name: "project" });
  const [urlField, mailField] = [field("URL", url, "It is a secret, encrypted and never shown again."), field("Mail address", mail)];
  const keyField = field("Key of the signatures (optional)", key, "whsec_ and base64. If empty, a new one is made and shown once.");
  const notices = NOTICES.map(([value, words]) => {
    const box = el("input", { type: "checkbox", name: "notices", value });
    return { box, node: el("label", { class: "check" }, box, words) };
  });
  const show = () => {
    [urlField.hidden, mailField.hidden, keyField.hidden] = [kind.value === "email", kind.value !== "email", kind.value !== "webhook"];
    [url.required, mail.required] = [kind.value !== "email", kind.value === "email"];
  };
  kind.addEventListener("change", show);
  show();
  formDialog("New channel", [
    field("Name", name), field("Kind", kind), urlField, mailField, keyField,
    el("fieldset", {}, el("legend", {}, "Only these"), notices.map(({ node }) => node), el("span", { class: "hint" }, "Without any, everything.")),
    field("Only of this project (optional)", project, "By name or id."),
  ], "Create", async () => {
    const targets = { email: { address: mail.value.trim() }, slack: { url: url.value.trim() }, webhook: { url: url.value.trim(), secret: key.value.trim() || undefined } };
    const made = await post(CHANNELS, {
      name: name.value.trim(), target: { kind: kind.value, ...targets[kind.value] }, project: project.value.trim() || undefined,
      notices: notices.filter(({ box }) => box.checked).map(({ box }) => box.value),
    });
    say(`${made.name} is added.`);
    await refresh();
    return made.secret ? () => showSecret("Key of the signatures", made.secret, el("p", {}, "The receiver verifies with it that a request comes from CyNode.")) : null;
  });
}

function deliveriesPart(signal) {
  const state = select({ "aria-label": "State of deliveries" }, STATES);
  const { node, body } = table("Deliveries, newest first", DELIVERY_COLUMNS);
  const empty = nothing("Nothing was delivered.");
  const load = (cursor) => get(`${DELIVERIES}?${new URLSearchParams({ limit: PAGE, ...(state.value ? { status: state.value } : {}), ...(cursor ? { cursor } : {}) })}`);
  const draw = (items) => {
    fill(body, ...items.map((each) => deliveryLine(each, pages.read)));
    [node.hidden, empty.hidden] = [items.length === 0, items.length > 0];
  };
  const pages = paged({ load, draw, signal });
  state.addEventListener("change", () => pages.restart());
  const purge = () => confirm("Delete what was given up?", "These notifications can no longer be sent again.", "Delete", async () => {
    const { deleted } = await post(`${DELIVERIES}/purge`, {});
    say(`${deleted} ${deleted === 1 ? "delivery" : "deliveries"} deleted.`);
    await pages.read();
  }, "Keep them");
  const button = el("button", { type: "button", "data-verb": "purge", onclick: purge }, "Delete what was given up");
  return {
    read: pages.read,
    node: el("section", { class: "part" }, el("div", { class: "head" }, el("h2", {}, "Deliveries"), el("div", { class: "verbs" }, button)),
      el("div", { class: "toolbar" }, state), node, empty, pages.node),
  };
}

function deliveryLine(each, refresh) {
  const again = async () => {
    await post(`${DELIVERIES}/${encodeURIComponent(each.id)}/retry`);
    say("It is delivered again.");
    await refresh();
  };
  const about = each.task_id ? el("a", { class: "about", href: requestAddress(each.task_id) }, visible(each.task_name ?? each.task_id)) : null;
  const node = row(DELIVERY_COLUMNS, [
    el("div", {}, visible(each.title), about, each.last_error ? el("p", { class: "fault" }, visible(each.last_error)) : null),
    visible(each.channel), badge(wordsFor(STATES, each.status), TONES[each.status]), String(each.attempts), moment(each.created_at),
    each.status === "dead" ? rowVerbs(visible(each.title), [["Retry", again]]) : "",
  ]);
  node.dataset.delivery = plain(each.kind);
  return node;
}
