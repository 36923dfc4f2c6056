// The installed MCP servers: their state, their last error, installing and removing them.

import { get, patch, remove } from "./api.js";
import { confirm } from "./dialog.js";
import { el, fill, moment, row, table, toggle, visible } from "./dom.js";
import { install } from "./install.js";
import { complain, say } from "./notices.js";
import { scopeWords } from "./scopes.js";

export const title = "Servers";

const COLUMNS = ["Server", "Reached by", "Tools", "New tools’ scope", "Owner", "On", ""];
/** How often, and how many times, a new server is looked at until it has tools; one that failed is asked again. */
const [LOOK_MS, LOOKS] = [1000, 60];

export async function render({ me }) {
  const { node, body } = table("Servers", COLUMNS);
  const nothing = el("p", { class: "nothing" },
    "No server is installed. Its tools will be called by its name, such as files.read.");
  let shown = null;
  /** Shows what is so; `onlyNews` leaves a page alone that shows it already. */
  const look = async ({ onlyNews = false } = {}) => {
    const [servers, tools] = await Promise.all([get("/v1/servers"), get("/v1/tools")]);
    const count = (id) => tools.filter((tool) => tool.server_id === id).length;
    const found = servers.map((server) => ({ ...server, tools: count(server.id) }));
    const now = JSON.stringify(found);
    if (onlyNews && now === shown) return found;
    shown = now;
    fill(body, ...found.map((server) => line(server, server.tools, me, look)));
    node.hidden = found.length === 0;
    nothing.hidden = found.length !== 0;
    return found;
  };
  await look();

  const installed = async ({ id, slug }) => {
    say(`${slug} is installed; asking it for its tools.`);
    for (let turn = 0; turn < LOOKS && node.isConnected; turn += 1) {
      const found = (await look({ onlyNews: true })).find((server) => server.id === id);
      if (!found || found.tools > 0) return;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  };
  const add = el("button", { type: "button", class: "main" }, "Install a server");
  add.addEventListener("click", () => install(me, (server) => installed(server).catch(complain)));
  return el("section", {},
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title), add), node, nothing);
}

function line(server, tools, me, look) {
  const slug = visible(server.slug);
  const flip = toggle(`${slug} is on`, server.enabled);
  flip.addEventListener("change", async () => {
    flip.disabled = true;
    try {
      await patch(path(server), { enabled: flip.checked });
      say(`${slug} is now ${flip.checked ? "on" : "off"}.`);
    } catch (error) {
      complain(error);
    }
    await look().catch(complain);
  });
  const gone = el("button", { type: "button", class: "quiet", "aria-label": `Remove ${slug}` }, "Remove");
  gone.addEventListener("click", () => {
    const words = `Its ${tools} tools can no longer be called, and the rules about them go too. The record of past calls stays.`;
    confirm(`Remove ${slug}?`, words, "Remove", async () => {
      await remove(path(server));
      say(`${slug} is removed.`);
      await look();
    });
  });
  const fault = server.last_error
    ? el("p", { class: "fault" }, visible(server.last_error)) : null;
  const hidden = server.hidden_by_system
    ? el("p", { class: "fault" }, `A server for all users is called ${slug} too: calls do not reach this one. Rename it with cynork servers rename.`)
    : null;
  const node = row(COLUMNS, [
    el("div", {}, el("strong", {}, slug), el("span", { class: "about" }, "since ", moment(server.created_at)), hidden, fault),
    reached(server.transport),
    tools === 0 ? "none yet" : el("a", { href: `#/tools?server=${encodeURIComponent(server.id)}` }, tools === 1 ? "1 tool" : `${tools} tools`),
    scopeWords(server.scope), owner(server, me), flip, gone,
  ]);
  node.dataset.server = server.slug;
  node.classList.toggle("off", !server.enabled);
  return node;
}

const path = (server) => `/v1/servers/${encodeURIComponent(server.id)}`;

function owner(server, me) {
  if (server.system) return "all users";
  if (server.owner_id === me.id) return "you";
  return el("span", { title: server.owner_id }, visible(server.owner_handle));
}

/** How a server is reached. Values of variables and headers never leave the control plane. */
function reached(transport) {
  const names = transport.type === "stdio" ? transport.env_names : transport.header_names;
  const kind = transport.type === "stdio" ? "variables" : "headers";
  const target = transport.type === "stdio"
    ? [transport.command, ...transport.args].join(" ") : transport.url;
  const notes = [
    transport.allow_network ? "connects to every public host" : null,
    transport.allowed_hosts?.length ? `connects to ${transport.allowed_hosts.map(visible).join(", ")}` : null,
    names.length ? `${kind}: ${names.map(visible).join(", ")}` : null,
  ].filter(Boolean);
  return el("div", {}, el("code", { class: "target" }, visible(target)),
    el("span", { class: "about" }, [transport.type === "stdio" ? "program in a sandbox" : "HTTP", ...notes].join(" · ")));
}
