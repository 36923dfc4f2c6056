// The record of tool calls: who called what, and what came of it. Arguments and results are
// not in it.

import { get } from "./api.js";
import { open } from "./dialog.js";
import { el, fill, moment, row, select, table, visible } from "./dom.js";
import { complain, reasons } from "./notices.js";

export const title = "Audit";

const COLUMNS = ["Time", "Tool", "Server", "Caller", "Decision", "Outcome", "Took"];
const DECISIONS = [["", "Allowed and denied"], ["allow", "Allowed"], ["deny", "Denied"]];
const PAGE = 50;

export async function render({ me, query }) {
  const tool = el("input", { type: "search", placeholder: "Whole name of a tool", "aria-label": "Tool", spellcheck: "false" });
  tool.value = query.get("tool") ?? "";
  const decision = select({ "aria-label": "Decision" }, DECISIONS, query.get("decision") ?? "");
  const apply = el("button", { type: "submit" }, "Show");
  const filters = el("form", { class: "toolbar", role: "search" }, tool, decision, apply);
  const { node, body } = table("Tool calls, newest first", COLUMNS);
  const nothing = el("p", { class: "nothing" }, "No calls match.");
  const more = el("button", { type: "button" }, "Load more");
  const found = el("div", { role: "status", class: "found" });
  let [cursor, asked] = [null, 0];

  const load = async (fresh) => {
    const ticket = ++asked;
    const wanted = new URLSearchParams({ limit: PAGE });
    if (tool.value.trim()) wanted.set("tool", tool.value.trim());
    if (decision.value) wanted.set("decision", decision.value);
    if (!fresh && cursor) wanted.set("cursor", cursor);
    const page = await get(`/v1/audit/calls?${wanted}`);
    if (ticket !== asked) return;
    if (fresh) fill(body);
    body.append(...page.items.map((call) => line(call, me)));
    cursor = page.next_cursor ?? null;
    more.hidden = !cursor;
    node.hidden = body.childElementCount === 0;
    nothing.hidden = !node.hidden;
  };
  filters.addEventListener("submit", (event) => {
    event.preventDefault();
    load(true).catch(complain);
  });
  decision.addEventListener("change", () => load(true).catch(complain));
  more.addEventListener("click", async () => {
    more.disabled = true;
    await load(false).catch(complain);
    more.disabled = false;
  });
  await load(true);
  return el("section", {},
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title), me.is_admin ? verifier(found) : null),
    found, filters, node, nothing, el("div", { class: "more" }, more));
}

function verifier(found) {
  const button = el("button", { type: "button", class: "main" }, "Verify the record");
  button.addEventListener("click", async () => {
    button.disabled = true;
    fill(found, el("p", {}, "Reading every record…"));
    try {
      fill(found, ...verdict(await get("/v1/audit/verify")));
    } catch (error) {
      fill(found, ...reasons(error));
    }
    button.disabled = false;
  });
  return button;
}

function verdict({ intact, records, chains }) {
  const counts = `${records.toLocaleString("en")} records in ${chains.length} ${chains.length === 1 ? "chain" : "chains"}`;
  const faults = chains.flatMap((chain) => chain.faults.map((fault) => el("li", {}, visible(fault))));
  return intact
    ? [el("p", { class: "good" }, `Intact: ${counts}; no record was edited, removed, reordered or inserted.`)]
    : [el("p", { class: "fault" }, `Not intact: ${counts}.`), el("ul", {}, faults)];
}

function line(call, me) {
  const name = el("button", { type: "button", class: "link mono", onclick: () => details(call, me) }, visible(call.tool_name));
  const denied = call.decision === "deny";
  const outcome = denied ? `refused by ${call.stage}` : call.status === "error" ? `failed: ${call.error_type ?? "error"}` : call.status;
  const node = row(COLUMNS, [
    moment(call.created_at), name, visible(call.server), caller(call, me),
    el("span", { class: `badge ${denied ? "bad" : "good"}` }, denied ? "denied" : "allowed"),
    visible(outcome), took(call),
  ]);
  node.dataset.decision = call.decision;
  return node;
}

const took = (call) => (call.duration_ms === null ? "" : `${call.duration_ms.toLocaleString("en")} ms`);

function caller(call, me) {
  const whose = call.user_id === null ? "" : call.user_id === me.id ? " · you" : ` · ${call.user_id.slice(-12)}`;
  return el("span", { title: call.user_id }, visible(call.agent_type), whose);
}

/** Everything on record about one call. */
function details(call, me) {
  const show = (value) =>
    Array.isArray(value) ? value.join(", ") || "none" : value === null ? "none" : String(value);
  const fact = ([name, value]) =>
    [el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, el("code", {}, visible(show(value))),
      name === "user_id" && value === me.id ? " (you)" : null)];
  open(visible(call.tool_name), el("dl", { class: "facts" }, Object.entries(call).flatMap(fact)));
}
