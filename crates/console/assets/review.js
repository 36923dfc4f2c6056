// One tool: what it says about itself and, if that changed since it was approved, what changed.

import { post } from "./api.js";
import { view } from "./diff.js";
import { el, moment, visible } from "./dom.js";
import { open } from "./dialog.js";
import { say } from "./notices.js";
import { scopeWords } from "./scopes.js";

/** Shows a tool; `approved` is called with what it is after an approval. */
export function review(tool, me, approved) {
  const contents = { approved: () => [definition(tool.definition)], changed: () => changed(tool), new: () => added(tool) };
  const content = contents[tool.approval]();
  const box = open(visible(tool.name), facts(tool), ...content);
  if (tool.approval === "approved") return;
  if (!me.is_admin) {
    box.dialog.append(el("p", { class: "hint" }, "An administrator has to approve it."));
    return;
  }
  const button = el("button", { type: "button", class: "main" }, "Approve this definition");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      // Only what was read is approved: if the tool changed again meanwhile, the server refuses.
      const body = { definition_sha256: tool.definition_sha256 };
      const now = await post(`/v1/tools/${encodeURIComponent(tool.id)}/approve`, body);
      box.close();
      approved(now);
      say(`${tool.name} is approved as it is now.`);
    } catch (error) {
      button.disabled = false;
      box.complain(error);
    }
  });
  box.dialog.append(el("div", { class: "actions" }, button));
}

function facts(tool) {
  const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];
  return el("dl", { class: "facts" },
    fact("Server", visible(tool.server)), fact("State", tool.enabled ? "on" : "off"),
    fact("Scope", scopeWords(tool.scope)), fact("First seen", moment(tool.first_seen_at)),
    fact("Last change", moment(tool.updated_at)),
    fact("Fingerprint", el("code", {}, tool.definition_sha256)));
}

function added(tool) {
  return [
    el("p", {}, "The server added this tool after its installation. It cannot be called until an administrator has read and approved it."),
    definition(tool.definition),
  ];
}

function changed(tool) {
  return [
    el("p", {}, "This tool is not what was approved. It cannot be called until an administrator has read the change and approved it."),
    view(text(tool.approved), text(tool.definition)),
  ];
}

const pretty = (schema) => JSON.stringify(schema, null, 2);

/** A definition as text, for comparing. */
function text({ title, description, input_schema, output_schema }) {
  const parts = [title ? `title: ${title}` : null, description, `arguments: ${pretty(input_schema)}`,
    output_schema ? `results: ${pretty(output_schema)}` : null];
  return parts.filter((part) => part !== null).join("\n");
}

function definition({ title, description, input_schema, output_schema }) {
  const schema = (name, value) =>
    [el("h3", {}, name), el("pre", { tabindex: "0", "aria-label": name }, visible(pretty(value)))];
  return el("div", {},
    title ? el("p", {}, el("strong", {}, visible(title))) : null,
    el("p", { class: "prose" }, visible(description)),
    ...schema("Arguments", input_schema), ...(output_schema ? schema("Results", output_schema) : []));
}
