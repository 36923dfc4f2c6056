// The files of a task: attachments, outputs and collected changes. A job wrote them: they are shown as text, or saved.

import { get, getBlob, post } from "./api.js";
import { confirm, open } from "./dialog.js";
import { el, fill, moment, nothing, row, table, visible } from "./dom.js";
import { complain, say } from "./notices.js";
import { bytes, isOpen } from "./words.js";

export const title = "Files";

const COLUMNS = ["File", "Kind", "Size", "Stored", ""];
/** The largest file that is shown in the page. */
const MOST_BYTES = 1024 * 1024;
/** How long the address of a saved file is kept. */
const SAVE_MS = 60_000;

export async function create({ view, mayChange, signal }) {
  const address = `/v1/tasks/${encodeURIComponent(view.task.id)}/artifacts`;
  const { node, body } = table("Files of the task", COLUMNS);
  const empty = nothing("It has no files.");
  const usage = el("p", { class: "hint" });
  const dropAll = el("button", { type: "button", class: "danger", "data-verb": "delete-all" }, "Delete all files");
  let [now, shown] = [view, null];
  const read = async () => {
    const files = await get(address);
    const isClosed = !isOpen(now.task.status);
    const content = JSON.stringify([files, isClosed]);
    if (signal.aborted || content === shown) return;
    shown = content;
    const mayDelete = mayChange && isClosed;
    fill(body, ...files.map((file) => line(file, { address, mayDelete, refresh })));
    [node.hidden, empty.hidden, dropAll.hidden] = [files.length === 0, files.length > 0, !mayDelete || files.length === 0];
    const storage = await get("/v1/storage").catch(() => null);
    fill(usage, storage ? usageWords(storage) : null);
  };
  const refresh = () => read().catch(complain);
  dropAll.addEventListener("click", () => drop(address, undefined, refresh));
  await read();
  return {
    node: el("div", { class: "part" }, node, empty, usage, el("div", { class: "verbs" }, dropAll)),
    update: (newer) => {
      now = newer;
      refresh();
    },
  };
}

const usageWords = ({ used_bytes: used, limit_bytes: limit }) =>
  `The files of all your tasks take ${bytes(used)}${limit === undefined ? "" : ` of ${bytes(limit)}`}.`;

function line(file, { address, mayDelete, refresh }) {
  const path = visible(file.path);
  const content = `${address}/content?${new URLSearchParams({ path: file.path, kind: file.kind })}`;
  const button = (verb, words, act) => el("button", { type: "button", class: "quiet", "data-verb": verb, "aria-label": `${words} ${path}`, onclick: act }, words);
  const node = row(COLUMNS, [
    el("div", { class: "mono" }, path), visible(file.kind), el("span", { title: `SHA-256 ${file.sha256}` }, bytes(file.size_bytes)), moment(file.created_at),
    el("div", {},
      file.size_bytes <= MOST_BYTES ? button("view", "View", () => show(path, content)) : null,
      button("save", "Download", () => save(file, content)),
      mayDelete ? button("delete", "Delete", () => drop(address, file, refresh)) : null),
  ]);
  node.dataset.file = file.path;
  return node;
}

/** Shows a file in a dialog if it is text. */
async function show(path, content) {
  try {
    const data = await (await getBlob(content)).arrayBuffer();
    open(path, el("pre", { class: "log", tabindex: "0", "aria-label": "Content of the file" }, visible(decode(data))));
  } catch (error) {
    complain(error);
  }
}

function decode(data) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    throw new Error("The file is no text in UTF-8. Download it.");
  }
}

/** Saves a file on the person's machine, under the last part of its path. */
async function save(file, content) {
  try {
    const url = URL.createObjectURL(await getBlob(content));
    // A name that looks different from what it is could hide its ending.
    const name = file.path.split("/").at(-1).replace(/[\p{Cf}\p{Cc}]/gu, "_");
    el("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), SAVE_MS);
    say(`${name} is downloaded.`);
  } catch (error) {
    complain(error);
  }
}

/** Deletes a file, or all of them, after a confirmation. */
function drop(address, file, refresh) {
  const what = file ? visible(file.path) : "all files of the task";
  const words = "With the versions of earlier attempts. The task, its result and its logs stay. Without its attachments, it cannot be retried or forked.";
  confirm(`Delete ${what}?`, words, "Delete", async () => {
    const { files, freed_bytes: freed } = await post(`${address}/delete`, { paths: file ? [file.path] : undefined });
    say(`${files} ${files === 1 ? "file is" : "files are"} deleted; ${bytes(freed)} are free.`);
    await refresh();
  }, "Keep it");
}
