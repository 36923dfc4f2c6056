// What changed between two texts, line by line.

import { el, visible } from "./dom.js";

/** More work than this would stall the page; then every line counts as replaced. */
const MAX_WORK = 4_000_000;
/** How many lines of a patch are shown. */
const MOST_LINES = 2000;

/** Lines as `[mark, text]`: " " stayed, "-" went, "+" came. */
export function changes(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const both = [a.length, b.length];
  let head = 0;
  while (head < Math.min(...both) && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(...both) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const stayed = (line) => [" ", line];
  return [
    ...a.slice(0, head).map(stayed),
    ...between(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(stayed),
  ];
}

/** The longest common subsequence, read back as changes. */
function between(a, b) {
  const width = b.length + 1;
  if ((a.length + 1) * width > MAX_WORK) {
    return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
  }
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i] === b[j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push([" ", a[i]]);
      [i, j] = [i + 1, j + 1];
    } else if (j === b.length || (i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      found.push(["-", a[i++]]);
    } else {
      found.push(["+", b[j++]]);
    }
  }
  return found;
}

const TAGS = { " ": "span", "-": "del", "+": "ins" };

/** The changes, to look at. Lines that went or came say so to whoever cannot see colours. */
export function view(before, after) {
  const line = ([mark, text]) => el(TAGS[mark], {}, `${mark} ${visible(text)}\n`);
  return el("pre", { class: "diff", tabindex: "0", "aria-label": "What changed" },
    changes(before, after).map(line));
}

/** Lines of a patch; `command` is the command that prints those that are left out. */
export function patchLines(lines, command) {
  const tags = { "+": "ins", "-": "del" };
  const line = (text) => el(tags[text[0]] ?? "span", { class: text.startsWith("@@") ? "hunk" : null }, `${visible(text)}\n`);
  const left = lines.length - MOST_LINES;
  const rest = left > 0 ? el("span", { class: "hunk" }, `${left} more lines: ${command} prints them.\n`) : null;
  return el("pre", { class: "diff", tabindex: "0", "aria-label": "Changed lines" }, lines.slice(0, MOST_LINES).map(line), rest);
}
