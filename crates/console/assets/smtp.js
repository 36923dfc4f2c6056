// The mail server, for administrators. Its password is never returned.

import { get, put, remove } from "./api.js";
import { confirm, formDialog } from "./dialog.js";
import { el, facts, field, fill, nothing, select, visible } from "./dom.js";
import { complain, say } from "./notices.js";
import { wordsFor } from "./words.js";

const ADDRESS = "/v1/notifications/smtp";
const TLS = [["starttls", "STARTTLS"], ["tls", "TLS from the first byte"], ["none", "Not encrypted, on this machine only"]];

export async function create(signal) {
  const content = el("div");
  const read = async () => {
    const found = await get(ADDRESS).catch((error) => {
      if (error.status === 409) return null;
      throw error;
    });
    if (!signal.aborted) fill(content, ...view(found, () => read().catch(complain)));
  };
  await read();
  return el("section", { class: "part", "data-part": "smtp" }, content);
}

function view(found, refresh) {
  const drop = () => confirm("Remove the mail server?", "Channels by e-mail no longer deliver.", "Remove", async () => {
    await remove(ADDRESS);
    say("The mail server is removed.");
    await refresh();
  }, "Keep it");
  const button = (verb, words, act) => el("button", { type: "button", "data-verb": verb, onclick: act }, words);
  const verbs = [button("set-smtp", found ? "Change" : "Set it", () => edit(found, refresh)), found ? button("remove-smtp", "Remove", drop) : null];
  return [
    el("div", { class: "head" }, el("h2", {}, "Mail server"), el("div", { class: "verbs" }, verbs)),
    !found ? nothing("There is none: channels by e-mail do not deliver.") : facts([
      ["Server", visible(`${found.host}:${found.port}`)], ["Encryption", wordsFor(TLS, found.tls)], ["User", found.username ? visible(found.username) : null],
      ["Password", found.has_password ? "is set" : "none"], ["Sender", visible(found.from)], ["Only to", visible(found.allowed_domains.join(", "))],
    ]),
  ];
}

function edit(found, refresh) {
  const text = (attributes, value = "") => Object.assign(el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes }), { value });
  const host = text({ name: "host", required: true }, found?.host);
  const port = text({ name: "port", type: "number", min: "1", max: "65535", required: true }, found?.port ?? 587);
  const tls = select({ name: "tls" }, TLS, found?.tls ?? "starttls");
  const user = text({ name: "username" }, found?.username ?? "");
  const password = el("input", { name: "password", type: "password", autocomplete: "new-password" });
  const from = text({ name: "from", required: true, placeholder: "CyNode <cynode@example.com>" }, found?.from);
  const domains = Object.assign(el("textarea", { name: "allowed_domains", rows: "2" }), { value: (found?.allowed_domains ?? []).join("\n") });
  const authority = el("input", { name: "ca", type: "file" });
  formDialog("Mail server", [
    field("Host", host), field("Port", port), field("Encryption", tls), field("User (optional)", user),
    field("Password", password, found?.has_password ? "If empty, the present one is kept, unless host or user differ." : "It is encrypted and never shown again."), field("Sender", from),
    field("Only to these domains", domains, "One on each line. Without any, to all."),
    field("Certificate authority (optional)", authority, "A file in PEM, trusted besides those of the system. If none is chosen, only those of the system are."),
  ], "Set", async () => {
    await put(ADDRESS, {
      host: host.value.trim(), port: Number(port.value), tls: tls.value, username: user.value.trim() || undefined, password: password.value || undefined, from: from.value.trim(),
      allowed_domains: domains.value.split("\n").map((domain) => domain.trim()).filter(Boolean), ca_pem: authority.files[0] ? await authority.files[0].text() : undefined,
    });
    say("The mail server is set.");
    await refresh();
  });
}
