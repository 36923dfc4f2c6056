// Home: what waits for a person, with the forms that answer it, and the work that is under way.

import { get } from "./api.js";
import { answerForm, messageForm, questionText } from "./answer.js";
import { badge, el, fill, KeyedList, moment, visible } from "./dom.js";
import { repeat } from "./live.js";
import { complain } from "./notices.js";
import { requestTable } from "./requests.js";
import { age, plain, requestAddress, runAddress } from "./words.js";

export const title = "Home";

/** How often the page reads again, and how many items of a kind it shows. */
const [EVERY_MS, MOST] = [5000, 20];

export async function render({ me, signal }) {
  const cards = el("div", { class: "cards" });
  const nothing = el("p", { class: "nothing" }, "Nothing waits for you.");
  const more = el("p", { class: "hint" });
  const stale = el("p", { class: "stale", role: "status" });
  const running = requestTable("Running requests", me);
  const idle = el("p", { class: "nothing" }, "No request is under way. ", el("a", { href: "#/requests/new" }, "Submit one"), ".");
  const inbox = new KeyedList(cards, (item) => item.key, (item) => card(item, refresh));

  async function load() {
    const page = `limit=${MOST}`;
    const [tools, messages, runs, requests, open] = await Promise.all([
      get("/v1/tools?unapproved=true"),
      get(`/v1/inbox?${page}`), get(`/v1/runs?state=needs_answer&${page}`),
      get(`/v1/requests?waiting=true&${page}`), get(`/v1/requests?open=true&${page}`),
    ]);
    if (signal.aborted) return;
    const items = [
      ...requests.items.map((request) => ({ kind: "request", key: `request ${request.id}`, request: asked(request) })),
      ...runs.items.map(({ id, task_id, task_name, waits_for, created_at }) =>
        ({ kind: "run", key: `run ${id}`, run: { id, task_id, task_name, waits_for, created_at } })),
      ...messages.items.map((message) => ({ kind: "message", key: `message ${message.id}`, message })),
      ...tools.slice(0, MOST).map(({ id, name, approval, server }) => ({ kind: "tool", key: `tool ${id}`, tool: { name, approval, server } })),
    ];
    inbox.draw(items);
    nothing.hidden = items.length > 0;
    const isCut = [messages, runs, requests].some((list) => list.next_cursor) || tools.length > MOST;
    fill(more, isCut ? `The first ${MOST} of each kind are shown.` : null);
    running.draw(open.items);
    running.node.hidden = open.items.length === 0;
    idle.hidden = open.items.length > 0;
    fill(stale);
  }
  const refresh = () => load().catch((error) => {
    if (!signal.aborted) fill(stale, visible(error.message));
  });
  await load();
  repeat(refresh, EVERY_MS, signal).catch(complain);
  return el("section", {},
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title), el("a", { class: "button main", href: "#/requests/new" }, "New request")),
    stale, el("h2", { class: "part" }, "Waiting for you"), cards, nothing, more,
    el("div", { class: "head part" }, el("h2", {}, "Under way"), el("a", { href: "#/requests?state=open" }, "All open requests")),
    running.node, idle);
}

/** The part of a request that its card shows: a change elsewhere leaves the card, and what is typed in it, alone. */
const asked = ({ id, name, owner, question }) => ({ id, name, owner, question });

function card(item, refresh) {
  const make = { request: requestCard, run: runCard, message: messageCard, tool: toolCard }[item.kind];
  const node = el("article", { class: "card" }, ...make(item, refresh));
  node.dataset.item = item.kind;
  return node;
}

const head = (kind, tone, link, since) =>
  el("div", { class: "card-head" }, badge(kind, tone), link, since ? el("span", { class: "soft", title: since }, age(since)) : null);

function requestCard({ request }, refresh) {
  const { question } = request;
  const link = el("a", { href: requestAddress(request.id) }, visible(request.name));
  const kinds = { budget: "budget", review: "review", review_cap: "decision", unit_failed: "escalation", agent_message: "question", intake: "unclear", phase: "failed step" };
  return [
    head(kinds[question.subject.about] ?? plain(question.kind), "warn", link, question.asked_at),
    questionText(question),
    answerForm(`/v1/requests/${encodeURIComponent(request.id)}/answer`, question.accepts, refresh),
  ];
}

function runCard({ run }, refresh) {
  const place = el("div", {}, el("p", { class: "prose" }, visible(run.waits_for ?? "The run asks a question.")));
  const open = el("button", { type: "button" }, "Answer");
  open.addEventListener("click", async () => {
    open.disabled = true;
    try {
      const { question } = await get(`/v1/runs/${encodeURIComponent(run.id)}`);
      if (!question || question.answer) return refresh();
      fill(place, questionText(question), answerForm(`/v1/runs/${encodeURIComponent(run.id)}/answer`, question.accepts, refresh));
      open.remove();
    } catch (error) {
      complain(error);
    }
    open.disabled = false;
  });
  return [head("approval", "warn", el("a", { href: runAddress(run.id) }, visible(run.task_name)), run.created_at), place, el("div", { class: "actions" }, open)];
}

function messageCard({ message }, refresh) {
  const why = message.needs_person ?? message.given_up;
  const unit = message.work_unit_id ? ` · ${visible(message.work_unit_id)}` : "";
  return [
    head(plain(message.type), "warn", el("span", {}, visible(message.task_name)), message.created_at),
    el("p", { class: "soft" }, `${visible(message.sender)}${unit}, `, moment(message.created_at)),
    el("p", { class: "prose" }, visible(message.content)),
    why ? el("p", { class: "soft" }, visible(why)) : null,
    messageForm(message, refresh),
  ];
}

function toolCard({ tool }) {
  const link = el("a", { href: `#/tools?state=changed` }, visible(tool.name));
  return [head(`${tool.approval} tool`, "warn", link), el("p", {}, `${visible(tool.server)}: it cannot be called until an administrator has read and approved it.`)];
}
