// The forms that create and change a skill. Its text is scanned by the server; a refusal names the passage.

import { get, post, put } from "./api.js";
import { formDialog } from "./dialog.js";
import { el, field, select, visible } from "./dom.js";
import { complain, say } from "./notices.js";
import { skillAddress } from "./words.js";

/** Who can read a skill. */
export const SKILL_SCOPES = [["user", "Its owner"], ["group", "A group"], ["project", "A project"], ["global", "Everybody"]];
/** The most groups and projects to choose from. */
const MOST = 200;

/** Opens the form for a new skill. */
export async function createSkill(me) {
  const readers = await readersField(me, null).catch(complain);
  if (!readers) return;
  const [name, content] = [nameInput(""), textInput("")];
  formDialog("New skill", [field("Name", name, "The first heading of the text if empty."), field("Text", content, "In Markdown. It is scanned for hostile instructions."), ...readers.nodes], "Create", async () => {
    const made = await post("/v1/skills/load", { name: name.value.trim() || undefined, content: content.value, ...readers.value() });
    say(`${made.name} is stored.`);
    location.hash = skillAddress(made.id);
  });
}

/** Opens the form for a skill with its text; `changed` is called after the change. */
export async function editSkill(skill, text, me, changed) {
  // The system skill keeps its name and its readers.
  const isSystem = skill.owner === null;
  const readers = isSystem ? { nodes: [], value: () => ({}) } : await readersField(me, skill).catch(complain);
  if (!readers) return;
  const [name, content] = [nameInput(skill.name), textInput(text)];
  const reason = el("input", { name: "reason", maxlength: "500", autocomplete: "off" });
  const before = content.value;
  formDialog(`Change ${visible(skill.name)}`, [
    isSystem ? null : field("Name", name), field("Text", content, "It is scanned for hostile instructions."), ...readers.nodes,
    field("Why (optional)", reason, "For the history."),
  ], "Save", async () => {
    const body = {
      name: isSystem || name.value.trim() === skill.name ? undefined : name.value.trim(), content: content.value === before ? undefined : content.value,
      reason: reason.value.trim() || undefined, ...readers.value(),
    };
    const made = await put(`/v1/skills/${encodeURIComponent(skill.id)}`, body);
    say(`${made.name} is now version ${made.version}.`);
    await changed();
  });
}

const nameInput = (value) => Object.assign(el("input", { name: "name", maxlength: "100", autocomplete: "off" }), { value });
const textInput = (value) => Object.assign(el("textarea", { name: "content", rows: "14", required: true, spellcheck: "false" }), { value });

/** Who can read it, with the group or project if it is one of these. */
async function readersField(me, skill) {
  const [groups, projects] = await Promise.all([get(`/v1/groups?limit=${MOST}`), get(`/v1/projects?limit=${MOST}`)]);
  const scope = select({ name: "scope" }, SKILL_SCOPES.filter(([name]) => name !== "global" || me.is_admin || skill?.scope === "global"), skill?.scope ?? "user");
  const choice = (name, items, chosen) => {
    const options = items.map((item) => [item.id, visible(item.display_name)]);
    // The present one stays a choice, also if it is not among those that are listed.
    if (chosen && !items.some(({ id }) => id === chosen)) options.push([chosen, chosen]);
    return select({ name }, options, chosen ?? options[0]?.[0]);
  };
  const group = choice("group", groups.items.filter((each) => each.is_member || me.is_admin), skill?.group_id);
  const project = choice("project", projects.items, skill?.project_id);
  const [groupField, projectField] = [field("Group", group), field("Project", project)];
  const show = () => [groupField.hidden, projectField.hidden] = [scope.value !== "group", scope.value !== "project"];
  scope.addEventListener("change", show);
  show();
  return {
    nodes: [field("Who can read it", scope), groupField, projectField],
    value: () => ({
      scope: scope.value, group_id: (scope.value === "group" && group.value) || undefined, project_id: (scope.value === "project" && project.value) || undefined,
    }),
  };
}
