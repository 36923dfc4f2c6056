// Elements. Text goes in as text: nothing here ever parses markup, because names and
// descriptions of tools come from strangers.

/** Makes an element; `on…` attributes are listeners, `null` and `false` ones are left out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  fill(node, ...children);
  return node;
}

/** Replaces what is in an element. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** Text of a stranger, with every character that hides or reorders others spelled out. */
export function visible(text) {
  const spell = (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
  return String(text).replace(/[\p{Cf}\p{Co}\p{Cn}]|(?![\n\t])\p{Cc}/gu, spell);
}

/** A table that is a list of cards on a phone. Columns are names; rows are made by `row`. */
export function table(caption, columns) {
  const heads = columns.map((name) => el("th", { scope: "col", role: "columnheader" }, name));
  const body = el("tbody", { role: "rowgroup" });
  const node = el("table", { role: "table", "aria-label": caption },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)), body);
  return { node, body };
}

/** A row whose cells know the name of their column. */
export function row(columns, cells) {
  const cell = (content, index) =>
    el("td", { role: "cell", "data-column": columns[index], class: content === "" ? "empty" : null },
      content);
  return el("tr", { role: "row" }, cells.map(cell));
}

/** A label with its control. */
export function field(label, control, help) {
  const hint = help ? el("span", { class: "hint" }, help) : null;
  return el("label", { class: "field" }, el("span", {}, label), control, hint);
}

/** A select; options are pairs of value and words. */
export function select(attributes, options, chosen) {
  const node = el("select", attributes, options.map(([value, words]) => el("option", { value }, words)));
  if (chosen !== undefined) node.value = chosen;
  return node;
}

/** A switch: a checkbox that says that it is one. */
export function toggle(label, checked, attributes = {}) {
  const node = el("input", { type: "checkbox", role: "switch", "aria-label": label, ...attributes });
  node.checked = checked;
  return node;
}

/** A moment, in the reader's time zone. */
export function moment(text) {
  const at = new Date(text);
  const two = (number) => String(number).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return el("time", { datetime: text, title: text }, `${day} ${time}`);
}

/** A label for a state: `tone` is good, bad, warn or nothing. */
export const badge = (words, tone = "") => el("span", { class: `badge ${tone}` }, visible(words));

/** Pairs of name and value; a value of null leaves the pair out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" },
    shown.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** The paragraph for nothing. */
export const nothing = (words) => el("p", { class: "nothing" }, words);

/** Shows buttons again if what they depend on has changed. A button that stays keeps the focus; else the first one gets it. */
export function drawVerbs(node, dependsOn, make) {
  const content = JSON.stringify(dependsOn);
  if (content === node.dataset.content) return;
  const hadFocus = node.contains(document.activeElement);
  node.dataset.content = content;
  fill(node, ...make());
  if (hadFocus) node.querySelector("button, a")?.focus();
}

/** Links to the parts of a page. `parts` are modules with a title by their key; `address` gives the address of a part. */
export function tabs(label, parts, chosen, address) {
  const tab = ([key, { title }]) =>
    el("a", { href: address(key), "aria-current": key === chosen ? "page" : null }, title);
  return el("nav", { class: "tabs", "aria-label": label }, Object.entries(parts).map(tab));
}

/** Microdollars as dollars. */
export const dollars = (micros) => `$${(micros / 1_000_000).toFixed(micros > 0 && micros < 10_000 ? 4 : 2)}`;

/**
 * Shows items in a container and keeps the nodes of those that did not change, so that a form in one of them keeps what a
 * person typed. `key` names an item, `make` builds its node.
 */
export class KeyedList {
  constructor(container, key, make) {
    Object.assign(this, { container, key, make, shown: new Map() });
  }

  draw(items) {
    const next = new Map();
    for (const item of items) {
      const [name, content] = [this.key(item), JSON.stringify(item)];
      const known = this.shown.get(name);
      next.set(name, known?.content === content ? known : { content, node: this.make(item) });
    }
    this.shown = next;
    const nodes = [...next.values()].map(({ node }) => node);
    for (const child of [...this.container.children]) if (!nodes.includes(child)) child.remove();
    // A node that is in its place is not moved: moving it would take the focus from its fields.
    nodes.forEach((node, index) => {
      const present = this.container.children[index] ?? null;
      if (present !== node) this.container.insertBefore(node, present);
    });
  }
}
