// One run: its state, its question, its verbs, and its parts, each with an address of its own.

import { get } from "./api.js";
import { drawVerbs, el, fill, KeyedList, tabs, visible } from "./dom.js";
import { followTask } from "./live.js";
import { complain } from "./notices.js";
import * as compare from "./run-compare.js";
import * as decisions from "./run-decisions.js";
import * as history from "./run-history.js";
import * as overview from "./run-overview.js";
import { questionCard, runVerbs } from "./run-verbs.js";
import { runAddress, statusBadge, taskAddress, traceAddress } from "./words.js";

/** The parts. `create` is given the run, and whether the person may change it. It returns a node, and `update` for a newer run. */
const PARTS = { overview, history, decisions, compare };

export async function render({ path: [id, name], me, query, signal }) {
  const address = `/v1/runs/${encodeURIComponent(id)}`;
  let run = await get(address);
  const project = await get(`/v1/projects/${encodeURIComponent(run.project_id)}`).catch(() => null);
  // Members of the group of a project read its runs; only its owner creates tasks there.
  const mayChange = me.is_admin || project?.owner === me.handle;
  const chosen = Object.hasOwn(PARTS, name ?? "") ? name : "overview";
  document.title = `${visible(run.task_name)} · CyNode`;

  const state = el("p", { class: "state" });
  const verbs = el("div", { class: "verbs" });
  const asked = el("div", { class: "cards" });
  const stale = el("p", { class: "stale", role: "status" });
  const question = new KeyedList(asked, () => "question", (asking) => questionCard(asking, refreshLoudly));
  const draw = () => {
    fill(state, statusBadge(run.state), run.verification ? [" ", statusBadge(run.verification)] : null, el("span", { class: "soft mono" }, ` ${run.id}`));
    const link = (words, href) => el("a", { class: "button", href }, words);
    drawVerbs(verbs, [run.state, Boolean(run.place)], () => [
      ...(mayChange ? runVerbs(run, { current: () => run, refresh: refreshLoudly }) : []),
      link("Task", taskAddress(run.task_id)), link("Trace", traceAddress(run.trace_id)),
    ]);
    question.draw(mayChange && run.state === "needs_answer" ? [{ id: run.id, question: run.question }] : []);
  };
  async function refresh() {
    const newer = await get(address);
    if (signal.aborted) return;
    run = newer;
    draw();
    part.update(run);
    fill(stale);
  }
  const refreshLoudly = () => refresh().catch(complain);
  const part = await PARTS[chosen].create({ run, project, mayChange, query, signal });
  draw();
  followTask(run.task_id, { signal, refresh, stale });

  return el("section", { class: "request" },
    el("p", { class: "crumb" }, el("a", { href: "#/tasks/runs" }, "Runs")),
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, visible(run.task_name)), verbs), state, stale, asked,
    tabs("Parts of the run", PARTS, chosen, (key) => runAddress(id, key === "overview" ? "" : key)), part.node);
}
