// Credentials for model providers and git hosts, and the providers. The server never returns a secret.

import { get, patch, post, remove } from "./api.js";
import { allChanges, showChanges } from "./change-log.js";
import { confirm, formDialog } from "./dialog.js";
import { badge, el, field, fill, moment, nothing, row, select, table, visible } from "./dom.js";
import { say } from "./notices.js";
import * as providers from "./providers.js";
import { actButton, rowVerbs } from "./row-verbs.js";
import { namesById } from "./subject-id.js";
import { plain } from "./words.js";

export const title = "Credentials";

const COLUMNS = ["Credential", "Used for", "Type", "State", "Set", ""];
const KINDS = [
  ["api_key", "API key"], ["oauth_token", "OAuth token"], ["bearer_token", "Bearer token"], ["password", "Password or token of a git host"], ["ssh_key", "SSH key of a git host"],
];
/** How many groups a form offers, and the longest secret in bytes. */
const [MOST, MOST_BYTES] = [200, 16 * 1024];

export async function create({ me, signal }) {
  const [groups, names] = await Promise.all([get(`/v1/groups?limit=${MOST}`), namesById(me)]);
  const context = { me, groups: groups.items, names, signal };
  return el("div", {}, await credentialsPart(context), await providers.create(context));
}

async function credentialsPart(context) {
  const { me, signal } = context;
  const { node, body } = table("Credentials", COLUMNS);
  const empty = nothing("There are no credentials.");
  const read = async () => {
    const found = await get("/v1/credentials");
    if (signal.aborted) return;
    fill(body, ...found.map((each) => line(each, context, read)));
    [node.hidden, empty.hidden] = [found.length === 0, found.length > 0];
  };
  await read();
  const rotateKey = () => confirm("Rotate the encryption key?", "Every credential is encrypted again with a new key. They stay valid.", "Rotate", async () => {
    const { credentials } = await post("/v1/credential-key/rotate");
    say(`${credentials} credentials are encrypted with a new key.`);
    await read();
  });
  const add = el("button", { type: "button", class: "main", "data-verb": "new-credential", onclick: () => createCredential(context, read) }, "New credential");
  const admin = [
    actButton({ "data-verb": "history" }, "History", () => showChanges("History of credentials", allChanges("api_credential"))),
    el("button", { type: "button", "data-verb": "rotate-key", onclick: rotateKey }, "Rotate the encryption key"),
  ];
  return el("section", { class: "part" },
    el("div", { class: "head" }, el("h2", {}, title), el("div", { class: "verbs" }, me.is_admin ? admin : null, add)),
    el("p", { class: "soft" }, "Secrets are encrypted and never shown. Your own credential is used before that of a group, and that one before the installation’s."), node, empty);
}

function ownerWords({ owner_type: kind, owner_id: id }, { me, names }) {
  if (kind === "system") return "everyone";
  return id === me.id ? "you" : el("span", { title: id }, `${kind} ${visible(names.get(id) ?? id.slice(-12))}`);
}

function state({ is_active: isActive, expires_at: end }) {
  if (!isActive) return badge("disabled", "bad");
  if (!end) return badge("active", "good");
  const isOver = new Date(end) <= Date.now();
  return el("div", {}, badge(isOver ? "expired" : "valid until", isOver ? "bad" : "good"), " ", moment(end));
}

function line(each, context, refresh) {
  const name = `${visible(each.provider)}, ${visible(each.name)}`;
  const address = `/v1/credentials/${encodeURIComponent(each.id)}`;
  const flip = async () => {
    await patch(address, { is_active: !each.is_active });
    say(`${each.provider}, ${each.name} is ${each.is_active ? "disabled" : "enabled"}.`);
    await refresh();
  };
  const drop = () => confirm(`Delete the credential ${name}?`, "It cannot be restored. Calls that need it fail, unless another one applies.", "Delete", async () => {
    await remove(address);
    say(`${each.provider}, ${each.name} is deleted.`);
    await refresh();
  }, "Keep it");
  const node = row(COLUMNS, [
    el("div", {}, el("strong", {}, visible(each.provider)), el("span", { class: "about" }, visible(each.name))), ownerWords(each, context), plain(each.credential_type), state(each), moment(each.updated_at),
    rowVerbs(name, [
      ["Rotate", () => rotate(each, name, address, refresh)], [each.is_active ? "Disable" : "Enable", flip],
      ["History", () => showChanges(`History of ${name}`, `${address}/changes`)], ["Delete", drop],
    ]),
  ]);
  node.dataset.credential = `${each.provider}/${each.name}`;
  return node;
}

/** The field for a secret. A key of several lines is read from a file, because a field would lose the ends of its lines. */
function secretField(isFile) {
  const typed = el("input", { name: "secret", type: "password", autocomplete: "new-password" });
  const file = el("input", { name: "secret_file", type: "file" });
  const [typedField, fileField] = [field("Secret", typed), field("File with the private key", file)];
  const show = (wantsFile) => {
    [typedField.hidden, fileField.hidden] = [wantsFile, !wantsFile];
    [typed.required, file.required] = [!wantsFile, wantsFile];
  };
  show(isFile);
  return {
    nodes: [typedField, fileField], show,
    value: async () => {
      if (fileField.hidden) return typed.value.trim();
      if (file.files[0].size > MOST_BYTES) throw new Error("The file is larger than 16 KiB, so it is no key.");
      return file.files[0].text();
    },
  };
}

const dateField = () => el("input", { name: "expires", type: "date" });
/** The moment at which a day begins, as the command line takes a date too. */
const endOf = (input) => (input.value ? `${input.value}T00:00:00Z` : undefined);

function createCredential(context, refresh) {
  const { me, groups } = context;
  const text = (attributes) => el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
  const [provider, name] = [text({ name: "provider", required: true }), text({ name: "name", placeholder: "default" })];
  const kind = select({ name: "credential_type" }, KINDS, "api_key");
  const owners = [["user", "You"], ...(me.is_admin ? [["system", "Everyone without an own one"], ...groups.map((each) => [each.id, `Group ${visible(each.name)}`])] : [])];
  const owner = select({ name: "owner" }, owners, "user");
  const secret = secretField(false);
  kind.addEventListener("change", () => secret.show(kind.value === "ssh_key"));
  const end = dateField();
  formDialog("New credential", [
    field("Provider", provider, "The name of a model provider; for a git host git:HOST, such as git:github.com."), field("Name (optional)", name, "Tells several credentials for one provider apart."),
    field("Type", kind), ...secret.nodes, owners.length > 1 ? field("Used for", owner) : null, field("Valid until (optional)", end),
  ], "Store", async () => {
    const isGroup = !["user", "system"].includes(owner.value);
    const made = await post("/v1/credentials", {
      owner_type: isGroup ? "group" : owner.value, owner_id: isGroup ? owner.value : undefined, provider: provider.value.trim(), name: name.value.trim() || undefined,
      credential_type: kind.value, secret: await secret.value(), expires_at: endOf(end),
    });
    say(`The credential for ${made.provider} is stored.`);
    await refresh();
  });
}

function rotate(each, name, address, refresh) {
  const secret = secretField(each.credential_type === "ssh_key");
  const end = dateField();
  const expiry = select({ name: "expiry" }, [["keep", "As before"], ["never", "No end"], ["date", "A date"]], "keep");
  const endField = field("Valid until", end);
  const show = () => [endField.hidden, end.required] = [expiry.value !== "date", expiry.value === "date"];
  expiry.addEventListener("change", show);
  show();
  formDialog(`New secret for ${name}`, [el("p", {}, "It replaces the present one at once."), ...secret.nodes, field("End", expiry), endField], "Rotate", async () => {
    const wanted = { keep: undefined, never: null, date: endOf(end) }[expiry.value];
    await post(`${address}/rotate`, { secret: await secret.value(), expires_at: wanted });
    say(`${each.provider}, ${each.name} has a new secret.`);
    await refresh();
  });
}
