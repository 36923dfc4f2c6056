// The decisions of a run: what they are based on, who made them, and what they led to.

import { get } from "./api.js";
import { el, facts, KeyedList, moment, nothing, visible } from "./dom.js";
import { complain } from "./notices.js";
import { paged } from "./pager.js";
import { plain } from "./words.js";

export const title = "Decisions";

const PAGE = 50;

export async function create({ run, signal }) {
  const cards = el("div", { class: "cards" });
  const empty = nothing("Nothing is decided yet.");
  const list = new KeyedList(cards, ({ sequence, node, about, recorded_at }) => JSON.stringify([sequence, node, about, recorded_at]), card);
  const load = (cursor) => {
    const wanted = new URLSearchParams({ limit: PAGE });
    if (cursor) wanted.set("cursor", cursor);
    return get(`/v1/runs/${encodeURIComponent(run.id)}/explain?${wanted}`);
  };
  const draw = (items) => {
    list.draw(items);
    empty.hidden = items.length > 0;
  };
  const pages = paged({ load, draw, signal, labels: ["Earlier", "Later"] });
  await pages.read();
  return { node: el("div", { class: "part" }, cards, empty, pages.node), update: () => pages.read().catch(complain) };
}

function card(decision) {
  const inputs = decision.input.map((text) => el("li", {}, visible(text)));
  const node = el("article", { class: "card" },
    el("div", { class: "card-head" }, el("strong", {}, visible(decision.about)), el("span", { class: "soft" }, `row ${decision.sequence}, ${plain(visible(decision.node))}, `, moment(decision.recorded_at))),
    facts([
      ["From", inputs.length ? el("ul", { class: "plain prose" }, inputs) : null], ["Decided by", visible(decision.made_by)],
      ["Result", el("span", { class: "prose" }, visible(decision.led_to))],
    ]));
  node.dataset.decision = decision.node;
  return node;
}
