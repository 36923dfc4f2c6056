// Model providers, for administrators; and the models that a person may use.

import { get, post, put, remove } from "./api.js";
import { allChanges, showChanges } from "./change-log.js";
import { confirm, formDialog, open } from "./dialog.js";
import { badge, el, facts, field, fill, moment, nothing, row, select, table, visible } from "./dom.js";
import { reasons, say } from "./notices.js";
import { actButton, rowVerbs } from "./row-verbs.js";
import { took, wordsFor } from "./words.js";

const COLUMNS = ["Provider", "API", "Who may use it", "Models", "Set", ""];
const MODEL_COLUMNS = ["Model", "Where", "Hints"];
const KINDS = [["openai", "OpenAI or compatible"], ["anthropic", "Anthropic"], ["ollama", "Ollama"]];
const USES = [["rules", "Who access rules allow"], ["everyone", "Everyone"], ["admins", "Administrators"]];
const PLACES = [["", "As its address says"], ["true", "On this machine: no credential, no cost"], ["false", "Elsewhere"]];
const FEW = 3;

export async function create({ me, signal }) {
  const models = modelsPart();
  if (!me.is_admin) return models;
  const { node, body } = table("Model providers", COLUMNS);
  const empty = nothing("There are no model providers.");
  const read = async () => {
    const found = await get("/v1/model-providers");
    if (signal.aborted) return;
    fill(body, ...found.map((each) => line(each, read)));
    [node.hidden, empty.hidden] = [found.length === 0, found.length > 0];
  };
  await read();
  const log = actButton({ "data-verb": "history" }, "History", () => showChanges("History of model providers", allChanges("model_provider")));
  const add = el("button", { type: "button", class: "main", "data-verb": "new-provider", onclick: () => editProvider(null, read) }, "New provider");
  return el("div", {}, el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, "Model providers"), el("div", { class: "verbs" }, log, add)), node, empty), models);
}

const address = (name) => `/v1/model-providers/${encodeURIComponent(name)}`;

function line(each, refresh) {
  const name = visible(each.name);
  const drop = () => confirm(`Delete the provider ${name}?`, "Its models can no longer be called. Its credentials are kept.", "Delete", async () => {
    await remove(address(each.name));
    say(`${each.name} is deleted.`);
    await refresh();
  }, "Keep it");
  const node = row(COLUMNS, [
    el("div", {}, el("strong", {}, name), " ", each.is_enabled ? null : badge("disabled", "bad"), each.is_local ? badge("local") : null,
      el("code", { class: "about" }, visible(each.base_url))),
    wordsFor(KINDS, each.kind), wordsFor(USES, each.allow), few(each.models), moment(each.updated_at),
    rowVerbs(name, [
      ["Test", () => test(each)], ["Edit", () => editProvider(each, refresh)], ["History", () => showChanges(`History of ${name}`, `${address(each.name)}/changes`)], ["Delete", drop],
    ]),
  ]);
  node.dataset.provider = each.name;
  return node;
}

function few(models) {
  if (!models.length) return "asked for";
  return visible(models.slice(0, FEW).join(", ")) + (models.length > FEW ? `, and ${models.length - FEW} more` : "");
}

async function test({ name }) {
  const { is_ok: isOk, detail, models, latency_ms: ms } = await post(`${address(name)}/test`);
  open(`Test of ${visible(name)}`, facts([
    ["Result", badge(isOk ? "works" : "fails", isOk ? "good" : "bad")], ["Answer", visible(detail)], ["Took", took(ms)], ["Models", visible(models.join(", "))],
  ]));
}

/** Opens the form for a provider, or for a new one. */
function editProvider(each, refresh) {
  const text = (attributes, value = "") => Object.assign(el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes }), { value });
  const name = text({ name: "name", required: true });
  const kind = select({ name: "kind" }, KINDS, each?.kind ?? "openai");
  const url = text({ name: "base_url", type: "url" }, each?.base_url);
  const allow = select({ name: "allow" }, USES, each?.allow ?? "rules");
  const place = select({ name: "is_local" }, PLACES, each ? String(each.is_local) : "");
  const models = Object.assign(el("textarea", { name: "models", rows: "3", spellcheck: "false" }), { value: (each?.models ?? []).join("\n") });
  const concurrency = Object.assign(el("input", { type: "number", name: "concurrency", min: "1", placeholder: "16" }), { value: each?.concurrency ?? "" });
  const enabled = el("input", { type: "checkbox", name: "is_enabled" });
  enabled.checked = each?.is_enabled ?? true;
  formDialog(each ? `Change the provider ${visible(each.name)}` : "New provider", [
    each ? null : field("Name", name, "The part before the slash in the names of its models."), field("API", kind),
    field("Address", url, "The public one of its API if empty."), field("Who may use it", allow), field("Where it is", place),
    field("Models", models, "One on each line. If empty, the provider is asked."), field("Calls at once", concurrency), el("label", { class: "check" }, enabled, "It may be called"),
  ], each ? "Save" : "Create", async () => {
    const made = await put(address(each?.name ?? name.value.trim()), {
      kind: kind.value, base_url: url.value.trim() || undefined, allow: allow.value, is_local: place.value ? place.value === "true" : undefined, is_enabled: enabled.checked,
      models: models.value.split("\n").map((model) => model.trim()).filter(Boolean), concurrency: concurrency.value ? Number(concurrency.value) : undefined,
      // The form does not show prices, and a request without them would delete them.
      prices: each?.prices ?? {},
    });
    say(`${made.name} is ${each ? "changed" : "added"}.`);
    await refresh();
  });
}

/** The models that the person may use. Their providers are asked, which can take a while. */
function modelsPart() {
  const result = el("div", { "aria-live": "polite" });
  const show = actButton({ "data-verb": "list-models" }, "List them", async () => {
    fill(result, el("p", { class: "nothing" }, "Asking the providers…"));
    try {
      fill(result, ...modelList(await get("/v1/brain/models")));
    } catch (error) {
      fill(result, el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
  });
  return el("section", { class: "part" }, el("div", { class: "head" }, el("h2", {}, "Models that you may use"), el("div", { class: "verbs" }, show)), result);
}

function modelList({ models, silent }) {
  const { node, body } = table("Models", MODEL_COLUMNS);
  fill(body, ...models.map((model) => row(MODEL_COLUMNS, [
    el("div", {}, el("span", { class: "mono" }, visible(model.id))), model.is_local ? "local" : "external", visible((model.hints ?? []).join(", ")),
  ])));
  return [
    models.length ? node : nothing("You may use no model."),
    ...silent.map(({ provider, reason }) => el("p", { class: "fault" }, `${visible(provider)}: ${visible(reason)}`)),
  ];
}
