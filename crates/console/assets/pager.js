// A long list, one page at a time: only the page that is shown is in memory.

import { el } from "./dom.js";
import { complain } from "./notices.js";

/**
 * The pages of a list. `load` is given a cursor, or null for the first page, and returns a page; `draw` shows its items. `read`
 * reads the present page again, `restart` shows the first one.
 */
export function paged({ load, draw, signal, labels = ["Newer", "Older"] }) {
  const [newer, older] = labels.map((label) => el("button", { type: "button" }, label));
  // The cursors of the pages up to the present one.
  let [cursors, next, asked] = [[null], null, 0];
  const read = async () => {
    const ticket = ++asked;
    const page = await load(cursors.at(-1));
    if (ticket !== asked || signal.aborted) return;
    next = page.next_cursor ?? null;
    [newer.hidden, older.hidden] = [cursors.length === 1, !next];
    draw(page.items);
  };
  const turn = async (wanted) => {
    const before = cursors;
    cursors = wanted;
    [newer.disabled, older.disabled] = [true, true];
    try {
      await read();
    } catch (error) {
      cursors = before;
      complain(error);
    }
    [newer.disabled, older.disabled] = [false, false];
  };
  const press = async (wanted, button, other) => {
    await turn(wanted);
    // A button that was disabled, or is gone, has lost the focus.
    if (document.activeElement === document.body) (button.hidden ? other : button).focus();
  };
  older.addEventListener("click", () => press([...cursors, next], older, newer));
  newer.addEventListener("click", () => press(cursors.slice(0, -1), newer, older));
  return { node: el("div", { class: "more" }, newer, older), read, restart: () => turn([null]) };
}
