// One trace: what happened from its start to its end, as a tree with times and cost.

import { get } from "./api.js";
import { badge, dollars, el, facts, fill, moment, nothing, visible } from "./dom.js";
import { repeat } from "./live.js";
import { complain } from "./notices.js";
import { SpanTree } from "./spans.js";
import { plain, took } from "./words.js";

/** How often an open trace is read again, and the most spans of a kind, at first and on request. */
const [EVERY_MS, FIRST, MOST] = [3000, 500, 2000];

export async function render({ path: [id], signal }) {
  const place = el("div", { class: "part" });
  const about = el("div");
  const stale = el("p", { class: "stale", role: "status" });
  const failed = el("input", { type: "checkbox", name: "failed" });
  const more = el("button", { type: "button" }, "Show more");
  const [openAll, closeAll] = ["Open all", "Close all"].map((words) => el("button", { type: "button" }, words));
  const tree = new SpanTree();
  const empty = nothing("");
  let [view, limit, shown] = [null, FIRST, null];
  const draw = () => {
    fill(about, summary(view));
    const isEmpty = tree.draw(view, { onlyFailed: failed.checked });
    fill(empty, isEmpty ? (failed.checked ? "Nothing failed." : "Nothing is recorded.") : null);
    more.hidden = !view.omitted?.length || limit === MOST;
  };
  const read = async () => {
    const newer = await get(`/v1/traces/${encodeURIComponent(id)}?limit=${limit}`);
    if (signal.aborted) return;
    fill(stale);
    const content = JSON.stringify(newer);
    if (content === shown) return;
    [view, shown] = [newer, content];
    draw();
  };
  await read();
  document.title = "Trace · CyNode";
  failed.addEventListener("change", draw);
  openAll.addEventListener("click", () => tree.setAll(true));
  closeAll.addEventListener("click", () => tree.setAll(false));
  more.addEventListener("click", () => {
    limit = MOST;
    read().catch(complain);
  });
  const again = () => (view.is_open ? read().catch((error) => fill(stale, visible(error.message))) : null);
  repeat(again, EVERY_MS, signal).catch(complain);
  fill(place, el("div", { class: "toolbar" }, el("label", { class: "check" }, failed, "Only what failed"), openAll, closeAll, more), tree.node, empty);
  return el("section", {},
    el("p", { class: "crumb" }, el("a", { href: "#/traces" }, "Traces")),
    el("h1", { tabindex: "-1" }, visible(view.spans.find((span) => !span.parent_id)?.name ?? "Trace")), stale, about, place);
}

function summary(view) {
  const omitted = (view.omitted ?? []).map(({ kind, shown, total }) => `${plain(kind)}: ${shown.toLocaleString("en")} of ${total.toLocaleString("en")} shown`);
  const list = (notes) => (notes?.length ? el("ul", { class: "plain" }, notes.map((note) => el("li", {}, visible(note)))) : null);
  return facts([
    ["Trace", el("code", {}, visible(view.trace_id))],
    ["Started", moment(view.started_at)],
    ["Took", view.is_open ? el("span", {}, `${took(view.duration_ms)} `, badge("open", "warn")) : took(view.duration_ms)],
    ["Cost", usageWords(view.usage)],
    ["Left out", list(omitted)],
    ["Not known", list(view.unknown)],
  ]);
}

/** Model calls, tokens and cost; without the price of a call, the cost is a lower bound. */
export function usageWords({ model_calls: calls, input_tokens: input, output_tokens: output, cost_micro_usd: cost, unpriced_calls: unpriced }) {
  if (!calls) return "no model call";
  const count = (number) => number.toLocaleString("en");
  return `${count(calls)} model ${calls === 1 ? "call" : "calls"}, ${count(input)} tokens in, ${count(output)} out, ${unpriced ? "at least " : ""}${dollars(cost)}`;
}
