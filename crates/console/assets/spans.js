// The spans of a trace as a tree that opens and closes. The parents come from elsewhere: each span is shown once, whatever they
// say, and what is below a closed span is made when it is opened.

import { badge, dollars, el, fill, visible } from "./dom.js";
import { plain, took } from "./words.js";

const STATES = { ok: ["ok", "good"], error: ["failed", "bad"], canceled: ["canceled", ""], open: ["open", "warn"], unknown: ["unknown", ""] };
/** The levels that are open at first; how deep what failed is opened by itself; and the levels that are indented. */
const [OPEN_LEVELS, DEEPEST, INDENTED] = [2, 30, 8];

export class SpanTree {
  constructor() {
    this.node = el("ul", { class: "spans", "aria-label": "Spans" });
    // What a person opened or closed, by the id of the span.
    this.chosen = new Map();
  }

  /** Shows a trace; returns whether there is nothing to show. */
  draw(view, { onlyFailed }) {
    const focused = this.node.contains(document.activeElement) ? document.activeElement.closest("[data-span]")?.dataset.span : null;
    this.length = Math.max(view.duration_ms, 1);
    this.failed = withAncestors(view.spans, (span) => span.status === "error");
    const shown = onlyFailed ? view.spans.filter((span) => this.failed.has(span.id)) : view.spans;
    this.below = Map.groupBy(shown, parentAmong(shown));
    this.seen = new Set();
    fill(this.node);
    this.append(this.node, this.below.get(null) ?? [], 0);
    // Spans that are each other's parents are below none: they are shown at the top.
    this.append(this.node, unreachable(shown, this.below), 0);
    if (focused) this.node.querySelector(`[data-span="${CSS.escape(focused)}"] > details > summary`)?.focus();
    return shown.length === 0;
  }

  /** Opens or closes every span. */
  setAll(isOpen) {
    // Opening a span makes those below it, which follow in the list.
    for (let open = true; open; ) {
      const waiting = [...this.node.querySelectorAll("details")].filter((node) => node.open !== isOpen);
      open = isOpen && waiting.length > 0;
      for (const node of waiting) node.toggleSpan(isOpen);
    }
  }

  /** Adds spans to a list, and what is below those that are open. */
  append(list, spans, depth) {
    const waiting = [[list, spans, depth]];
    while (waiting.length) {
      const [into, items, level] = waiting.pop();
      for (const span of items) {
        if (this.seen.has(span.id)) continue;
        this.seen.add(span.id);
        const { node, below } = this.item(span, level);
        into.append(node);
        if (below) waiting.push([below, this.below.get(span.id), level + 1]);
      }
    }
  }

  /** A span; `below` is the list to fill if it is open. */
  item(span, level) {
    const node = el("li");
    [node.dataset.span, node.dataset.status] = [span.id, span.status];
    const children = this.below.get(span.id);
    if (!children) {
      node.append(this.line(span, "div"));
      return { node, below: null };
    }
    const isOpen = this.chosen.get(span.id) ?? (level < OPEN_LEVELS || (this.failed.has(span.id) && level < DEEPEST));
    const below = el("ul", { class: level < INDENTED ? "spans" : "spans deep" });
    const details = el("details", { open: isOpen }, this.line(span, "summary"), below);
    details.toggleSpan = (open) => {
      details.open = open;
      this.chosen.set(span.id, open);
      if (open && !below.childElementCount) this.append(below, children, level + 1);
    };
    details.firstChild.addEventListener("click", (event) => {
      event.preventDefault();
      details.toggleSpan(!details.open);
    });
    node.append(details);
    return { node, below: isOpen ? below : null };
  }

  line(span, tag) {
    const [words, tone] = STATES[span.status] ?? STATES.unknown;
    const length = span.duration_ms ?? (span.status === "open" ? this.length - span.start_ms : 0);
    const bar = el("span", { class: `bar ${tone}` });
    const percent = (ms) => `${Math.min(100, Math.max(0, (ms / this.length) * 100))}%`;
    bar.style.setProperty("--start", percent(span.start_ms));
    bar.style.setProperty("--length", percent(length));
    const time = [`+${took(span.start_ms)}`, span.duration_ms === undefined ? null : took(span.duration_ms), cost(span.usage)];
    return el(tag, { class: "span" },
      el("span", { class: "span-name" }, span.status === "ok" ? null : [badge(words, tone), " "],
        el("span", { class: "soft" }, `${plain(span.kind)} `), el("strong", {}, visible(span.name)),
        span.detail ? el("span", { class: "about" }, visible(span.detail)) : null),
      el("span", { class: "span-time" }, time.filter(Boolean).join(" · ")),
      el("span", { class: "bars", "aria-hidden": "true" }, bar));
  }
}

const cost = (usage) => (usage?.model_calls ? `${usage.unpriced_calls ? "≥ " : ""}${dollars(usage.cost_micro_usd)}` : null);

/** The parent of a span, if it is among those that are shown. */
function parentAmong(spans) {
  const known = new Set(spans.map((span) => span.id));
  return (span) => (known.has(span.parent_id) ? span.parent_id : null);
}

/** The spans that are below none of those at the top. */
function unreachable(spans, below) {
  const reached = new Set();
  const waiting = [...(below.get(null) ?? [])];
  while (waiting.length) {
    const span = waiting.pop();
    if (reached.has(span.id)) continue;
    reached.add(span.id);
    waiting.push(...(below.get(span.id) ?? []));
  }
  return spans.filter((span) => !reached.has(span.id));
}

/** The ids of the spans that `test` accepts, and of everything they belong to. */
function withAncestors(spans, test) {
  const byId = new Map(spans.map((span) => [span.id, span]));
  const found = new Set();
  for (const span of spans.filter(test)) {
    for (let above = span; above && !found.has(above.id); above = byId.get(above.parent_id)) found.add(above.id);
  }
  return found;
}
