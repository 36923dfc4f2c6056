// The form that installs a server.

import { post } from "./api.js";
import { open } from "./dialog.js";
import { el, field, select } from "./dom.js";
import { SCOPES } from "./scopes.js";

/** Opens the form; `installed` is called with the name of what was installed. */
export function install(me, installed) {
  const input = (attributes) => el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
  const lines = (attributes) => el("textarea", { rows: "3", autocomplete: "off", spellcheck: "false", ...attributes });
  const slug = input({ name: "slug", required: true, pattern: "[a-z0-9]+(-[a-z0-9]+)*", title: "lowercase letters, digits and single dashes" });
  const scope = select({ name: "scope" }, SCOPES, "both");
  const command = input({ name: "command", placeholder: "/usr/bin/my-server" });
  const args = lines({ name: "args" });
  const env = lines({ name: "env", placeholder: "API_KEY=…" });
  const hosts = lines({ name: "hosts", placeholder: "api.example.com" });
  const network = el("input", { type: "checkbox", name: "network" });
  const url = input({ name: "url", type: "url", placeholder: "https://example.com/mcp" });
  const headers = lines({ name: "headers", placeholder: "Authorization=Bearer …" });

  const program = el("div", { class: "fields" },
    field("Program", command), field("Arguments", args, "One on each line."),
    field("Variables", env, "NAME=VALUE, one on each line. Other variables are not passed on; the values are not shown again."),
    field("Hosts it may connect to", hosts, "One on each line, such as api.example.com, *.example.com or example.com:8443. Without any, it has no network."),
    me.is_admin ? el("label", { class: "check" }, network, "It may connect to every public host") : null);
  const endpoint = el("div", { class: "fields" },
    field("URL", url), field("Headers", headers, "NAME=VALUE, one on each line; the values are not shown again."));

  const kinds = [["stdio", "A program, in a sandbox"], ["http", "An HTTP endpoint"]].map(([value, words]) => {
    const radio = el("input", { type: "radio", name: "kind", value });
    radio.checked = value === "stdio";
    radio.addEventListener("change", () => choose(value));
    return el("label", { class: "check" }, radio, words);
  });
  const choose = (kind) => {
    [program.hidden, endpoint.hidden] = [kind !== "stdio", kind !== "http"];
    [command.required, url.required] = [kind === "stdio", kind === "http"];
  };
  choose("stdio");

  const submit = el("button", { type: "submit", class: "main" }, "Install");
  const form = el("form", {},
    field("Name", slug, "Its tools are called <name>.<tool>."),
    el("fieldset", {}, el("legend", {}, "What it is"), ...kinds), program, endpoint,
    field("Where its tools may be called from", scope), el("div", { class: "actions" }, submit));
  const box = open("Install a server", form);
  slug.focus();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      const transport = program.hidden
        ? { type: "http", url: url.value.trim(), headers: pairs(headers.value, "header") }
        : {
          type: "stdio", command: command.value.trim(), args: args.value.split("\n").filter((line) => line !== ""),
          env: pairs(env.value, "variable"), allow_network: network.checked,
          allowed_hosts: hosts.value.split("\n").map((line) => line.trim()).filter(Boolean),
        };
      const server = await post("/v1/servers", { slug: slug.value, transport, scope: scope.value });
      box.close();
      installed(server);
    } catch (error) {
      submit.disabled = false;
      box.complain(error);
    }
  });
}

/** `NAME=VALUE` lines as an object. */
function pairs(text, what) {
  const found = text.split("\n").filter((line) => line.trim() !== "").map((line) => {
    const at = line.indexOf("=");
    // The line may hold a secret, so the words do not repeat it.
    if (at < 1) throw new Error(`Each ${what} is written NAME=VALUE.`);
    return [line.slice(0, at).trim(), line.slice(at + 1)];
  });
  return Object.fromEntries(found);
}
