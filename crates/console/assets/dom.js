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
