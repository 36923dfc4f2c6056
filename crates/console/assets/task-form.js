// The form that creates a task.

import { get, post } from "./api.js";
import { el, field, fill, select } from "./dom.js";
import { reasons } from "./notices.js";
import { projectChoice } from "./project-choice.js";
import { boundFields, linesOf, plainInput, revealInvalid, workFields } from "./task-fields.js";
import { taskAddress } from "./words.js";

const KINDS = ["commands", "script", "prompt", "agent"];
const HINTS = [["", "A strong one"], ["balanced", "A balanced one"], ["fast", "A fast one"]];
const SOURCES = [["", "None"], ["project", "That of the project"], ["url", "Another one"]];
/** The most files, and the size of each. */
const [MOST_FILES, MOST_BYTES] = [16, 10 * 1024 * 1024];

export async function render({ query, me }) {
  const from = query.get("from") ? await get(`/v1/tasks/${encodeURIComponent(query.get("from"))}`) : null;
  document.title = "New task · CyNode";
  const project = await projectChoice({ me, none: "Your default project", chosen: from?.project_id ?? query.get("project") ?? "", onlyActive: true, attributes: { name: "project" } });
  const name = plainInput({ name: "task_name", maxlength: "200" });
  const profile = plainInput({ name: "profile" }, from?.profile_id);
  const agent = plainInput({ name: "agent" }, from?.agent);
  const hint = select({ name: "model_hint" }, HINTS, "");
  const agentFields = el("div", { class: "row" }, field("Agent", agent, "A name of cynork agent profiles; the built-in one if empty."), field("Model of the built-in agent", hint));
  const work = workFields(KINDS, { kind: KINDS.includes(from?.input_mode) ? from.input_mode : "commands", text: from ? from.commands.join("\n") || from.prompt : "" },
    (kind) => (agentFields.hidden = kind !== "agent"));
  work.show();
  const repository = repositoryFields(from);
  const dependsOn = Object.assign(el("textarea", { name: "depends_on", rows: "2", autocapitalize: "none", spellcheck: "false" }), { value: (from?.depends_on ?? []).join("\n") });
  const files = el("input", { type: "file", name: "attachments", multiple: true });
  const bounds = boundFields(from ?? {});

  const body = async () => {
    const isAgent = work.kind() === "agent";
    return {
      ...work.task(), ...bounds.value(), ...repository.value(),
      task_name: name.value.trim() || undefined, project: project.node.value || undefined, profile: profile.value.trim() || undefined,
      depends_on: linesOf(dependsOn), attachments: await readAll([...files.files]),
      agent: (isAgent && agent.value.trim()) || undefined, model_hint: (isAgent && hint.value) || undefined,
    };
  };
  const trouble = el("div", { role: "alert", class: "trouble" });
  const create = el("button", { type: "submit", class: "main", name: "create" }, "Create");
  const form = el("form", { class: "submission" },
    ...work.nodes, agentFields,
    el("div", { class: "row" }, field("Name", name, "Derived from the work if empty."), field("Project", project.node)),
    repository.node,
    el("details", { "data-group": "files" }, el("summary", {}, "Files, dependencies and profile"),
      field("Files", files, `Placed in the workspace under attachments/. At most ${MOST_FILES} files of 10 MiB each.`),
      field("Tasks that must complete first", dependsOn, "By name or id, one on each line."),
      field("Profile", profile, "The profile of the project that its agents work in; the default one if empty.")),
    ...bounds.nodes, trouble, el("div", { class: "actions" }, create));
  revealInvalid(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    create.disabled = true;
    fill(trouble);
    try {
      const made = await post("/v1/tasks", await body());
      location.hash = taskAddress(made.id);
    } catch (error) {
      create.disabled = false;
      fill(trouble, ...reasons(error));
    }
  });
  const note = from ? el("p", { class: "soft" }, "Limits, approvals and files of the other task are not copied. A command of several lines is several commands here.") : null;
  return el("section", { class: "narrow" },
    el("p", { class: "crumb" }, el("a", { href: "#/tasks" }, "Tasks")),
    el("h1", { tabindex: "-1" }, "New task"), note, form);
}

/** On which repository the task works. */
function repositoryFields(from) {
  const { repository } = from ?? {};
  const source = select({ name: "source" }, SOURCES, repository ? "url" : "");
  const url = plainInput({ name: "url", placeholder: "git@forge.internal:team/site.git or /srv/git/site" }, repository?.url);
  const base = plainInput({ name: "base" }, repository?.base_branch);
  const branch = plainInput({ name: "branch" });
  const buildsOn = el("textarea", { name: "builds_on", rows: "2", autocapitalize: "none", spellcheck: "false" });
  buildsOn.value = (from?.builds_on ?? []).map(({ task }) => task).join("\n");
  const mark = el("input", { type: "checkbox", name: "mark_conflicts" });
  const address = field("Address", url, "An address that a worker node can clone, or a path that its operator allows.");
  const rest = el("div", {},
    el("div", { class: "row" }, field("Base branch", base, "The default branch if empty."), field("Branch", branch, "cynode/ and the name of the task if empty.")),
    field("Builds on the changes of", buildsOn, "Tasks on the same repository, by name or id, one on each line."),
    el("label", { class: "check" }, mark, "Start with marks where these changes conflict, to resolve them"));
  const show = () => {
    [rest.hidden, address.hidden] = [!source.value, source.value !== "url"];
    url.required = source.value === "url";
  };
  source.addEventListener("change", show);
  show();
  const branches = () => ({ base_branch: base.value.trim() || undefined, branch: branch.value.trim() || undefined });
  return {
    node: el("details", { open: Boolean(repository), "data-group": "repository" }, el("summary", {}, "Repository"), field("Repository", source), address, rest),
    value: () => {
      if (!source.value) return {};
      const of = source.value === "url" ? { repository: { url: url.value.trim(), ...branches() } } : { project_repository: branches() };
      return { ...of, builds_on: linesOf(buildsOn), mark_conflicts: mark.checked };
    },
  };
}

/** Files as attachments. */
function readAll(files) {
  if (files.length > MOST_FILES) throw new Error(`These are ${files.length} files; at most ${MOST_FILES} are allowed.`);
  const large = files.find(({ size }) => size > MOST_BYTES);
  if (large) throw new Error(`${large.name} is larger than 10 MiB.`);
  return Promise.all(files.map(async (file) => ({ name: file.name, content_base64: await base64(file) })));
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => reject(new Error(`${file.name} cannot be read.`)));
    reader.readAsDataURL(file);
  });
}
