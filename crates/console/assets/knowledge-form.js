// The forms that add documents to the knowledge of a project: a text, or files from disk.

import { post } from "./api.js";
import { formDialog } from "./dialog.js";
import { el, field } from "./dom.js";
import { say } from "./notices.js";

/** The largest file, and how many files and bytes are sent at once. */
const [MOST_BYTES, BATCH_FILES, BATCH_BYTES] = [1024 * 1024, 50, 4 * 1024 * 1024];

/** Opens the form for a text; `path` is the route, `changed` is called after the change. */
export function addText(path, source, changed) {
  const name = input({ name: "path", required: true, maxlength: "400", placeholder: "notes/deployment.md" });
  const text = el("textarea", { name: "content", rows: "10", required: true });
  const from = sourceInput(source);
  formDialog("Add a text", [from.node, field("Path", name, "Its ending says how it is read: .md, .txt, .html or that of a language."), field("Text", text)], "Add", () =>
    ingest(path, from.value(), [{ path: name.value.trim(), content: text.value }], [], changed));
}

/** Opens the form for files. */
export function addFiles(path, source, changed) {
  const files = el("input", { type: "file", name: "files", multiple: true, required: true });
  const from = sourceInput(source);
  formDialog("Add files", [from.node, field("Files", files, "Texts of at most 1 MiB each. A file of the same name in the source is replaced.")], "Add", async () => {
    const read = await Promise.all([...files.files].map(readFile));
    const [texts, refused] = [read.filter(({ content }) => content !== undefined), read.filter(({ error }) => error)];
    await ingest(path, from.value(), texts, refused, changed);
  });
}

const input = (attributes) => el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });

function sourceInput(source) {
  const name = Object.assign(input({ name: "source", required: true, maxlength: "200" }), { value: source || "notes" });
  return { node: field("Source", name, "Documents of one source are listed and deleted together."), value: () => name.value.trim() };
}

/** The text of a file, or why it cannot be added. */
async function readFile(file) {
  const path = file.name;
  if (file.size > MOST_BYTES) return { path, error: "it is larger than 1 MiB" };
  try {
    return { path, content: new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()), size: file.size };
  } catch {
    return { path, error: "it is no text in UTF-8" };
  }
}

/** Sends documents, and fails with the reasons if some were not added. */
async function ingest(path, source, documents, refused, changed) {
  const outcomes = [...refused];
  for (const batch of batches(documents)) {
    const { items } = await post(path, { source, documents: batch.map(({ path: name, content }) => ({ path: name, content })) });
    outcomes.push(...items);
  }
  await changed();
  const failed = outcomes.filter(({ error }) => error);
  const count = (outcome) => outcomes.filter((each) => each.outcome === outcome).length;
  const done = ["added", "replaced", "unchanged"].filter((outcome) => count(outcome)).map((outcome) => `${count(outcome)} ${outcome}`).join(", ");
  if (done) say(`Documents: ${done}.`);
  if (!failed.length) return;
  const faults = failed.map((each) => `${each.path}: ${each.error}`);
  // A single fault is not listed again below the message.
  const message = faults.length === 1 ? faults[0] : `${faults.length} documents were not added.`;
  throw Object.assign(new Error(message), { faults });
}

/** Documents in groups that one request takes. */
function batches(documents) {
  const groups = [];
  let bytes = Infinity;
  for (const document of documents) {
    const size = document.size ?? document.content.length;
    if (bytes + size > BATCH_BYTES || groups.at(-1).length === BATCH_FILES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1).push(document);
    bytes += size;
  }
  return groups;
}
