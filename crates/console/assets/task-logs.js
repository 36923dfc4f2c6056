// The output of a task so far.

import { get } from "./api.js";
import { el, fill } from "./dom.js";
import { repeat } from "./live.js";
import { streams } from "./logs.js";
import { complain } from "./notices.js";
import { isOpen } from "./words.js";

export const title = "Logs";

/** How often the output of a running task is read again. */
const EVERY_MS = 3000;

export async function create({ view, signal }) {
  const node = el("div", { class: "part" });
  let [now, shown] = [view, null];
  const read = async () => {
    const output = await get(`/v1/tasks/${encodeURIComponent(view.task.id)}/logs`);
    const content = JSON.stringify(output);
    if (content === shown || signal.aborted) return;
    shown = content;
    fill(node, ...streams(output));
  };
  await read();
  const again = () => read().catch(complain);
  repeat(async () => (isOpen(now.task.status) ? again() : null), EVERY_MS, signal).catch(complain);
  return {
    node,
    update: (newer) => {
      now = newer;
      again();
    },
  };
}
