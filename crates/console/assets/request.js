// One request: its state, its question, its verbs, and its parts, each with an address of its own.

import { get } from "./api.js";
import { answerForm, questionText } from "./answer.js";
import { withLists } from "./attempts.js";
import * as board from "./board.js";
import * as changes from "./changes.js";
import { badge, drawVerbs, el, fill, KeyedList, tabs, visible } from "./dom.js";
import * as evidence from "./evidence.js";
import { followTask } from "./live.js";
import * as logs from "./logs.js";
import { complain } from "./notices.js";
import * as plan from "./plan.js";
import * as timeline from "./timeline.js";
import { verbsFor } from "./verbs.js";
import { isOpen, PHASES, requestAddress, statusBadge, wordsFor } from "./words.js";

/**
 * The parts. `create` is given the request, and `refresh` to call after a change of it. It returns a node, `update` for a newer
 * state of the request, and, if the part shows the history, `onEvent` for every event of the request.
 */
const PARTS = { plan, board, timeline, changes, evidence, logs };

export async function render({ path: [id, name], query, signal }) {
  const address = `/v1/requests/${encodeURIComponent(id)}`;
  let view = withLists(await get(address));
  const chosen = Object.hasOwn(PARTS, name ?? "") ? name : "plan";
  document.title = `${visible(view.name)} · CyNode`;

  const state = el("p", { class: "state" });
  const verbs = el("div", { class: "verbs" });
  const asked = el("div", { class: "cards" });
  const stale = el("p", { class: "stale", role: "status" });
  const question = new KeyedList(asked, () => "question", (pending) => questionCard(view, pending, refresh));
  const draw = () => {
    fill(state, statusBadge(view.status), el("span", { class: "soft" }, `${isOpen(view.status) ? ` ${wordsFor(PHASES, view.phase)} ·` : ""} ${visible(view.owner)}`),
      view.paused_at ? [" ", badge("paused", "warn")] : null, view.settings.dry_run ? [" ", badge("dry run")] : null,
      view.verification ? [" ", statusBadge(view.verification)] : null);
    drawVerbs(verbs, [view.status, view.phase, view.paused_at], () => verbsFor(view, refresh));
    question.draw(view.question ? [view.question] : []);
  };
  async function refresh() {
    const newer = withLists(await get(address));
    if (signal.aborted) return;
    view = newer;
    draw();
    part.update(view);
    fill(stale);
  }
  const part = await PARTS[chosen].create({ view, query, signal, refresh: () => refresh().catch(complain) });
  draw();

  followTask(view.id, { signal, refresh, onEvent: part.onEvent, stale });

  const partAddress = (key) => requestAddress(id, key === "plan" ? "" : key);
  return el("section", { class: "request" },
    el("p", { class: "crumb" }, el("a", { href: "#/requests" }, "Requests")),
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, visible(view.name)), verbs),
    state, stale, asked, tabs("Parts of the request", PARTS, chosen, partAddress), part.node);
}

function questionCard(view, pending, refresh) {
  const path = `/v1/requests/${encodeURIComponent(view.id)}/answer`;
  const answered = () => refresh().catch(complain);
  return el("article", { class: "card asks" }, el("div", { class: "card-head" }, badge("needs you", "warn")),
    questionText(pending), answerForm(path, pending.accepts, answered));
}
