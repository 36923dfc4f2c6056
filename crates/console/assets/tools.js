// The tools: which there are, whether they are on, and where they may be called from.

import { get, patch } from "./api.js";
import { el, fill, row, select, table, toggle, visible } from "./dom.js";
import { complain, say } from "./notices.js";
import { review } from "./review.js";
import { SCOPES, scopeWords } from "./scopes.js";

export const title = "Tools";

const COLUMNS = ["Tool", "Server", "Scope", "Definition", "On"];
const STATES = [["", "All states"], ["on", "On"], ["off", "Off"], ["changed", "Waits for review"]];

export async function render({ me, query }) {
  const [tools, servers] = await Promise.all([get("/v1/tools"), get("/v1/servers")]);
  // By id: several users may have a server of one name.
  const known = new Map(servers.map((server) => [server.id, server]));
  // What waits for somebody comes first; beyond that the list stays in the order of names.
  const waiting = (tool) => (tool.approval === "approved" ? 1 : 0);
  tools.sort((a, b) => waiting(a) - waiting(b));
  const rows = tools.map((tool) => new Row(tool, known.get(tool.server_id), me));

  const search = el("input", { type: "search", placeholder: "Search name or description", "aria-label": "Search tools" });
  const sources = new Map(tools.map((tool) => [sourceOf(tool), tool.server]));
  const label = ([source, slug]) => [source, visible(slug) + ownerNote(known.get(source), me)];
  const server = select({ "aria-label": "Server" },
    [["", "All servers"], ...[...sources].map(label).sort((a, b) => (a[1] < b[1] ? -1 : 1))]);
  const wanted = query.get("server");
  if (wanted && sources.has(wanted)) server.value = wanted;
  const state = select({ "aria-label": "State" }, STATES, query.get("state") ?? "");
  const count = el("p", { class: "count", role: "status" });
  const { node, body } = table("Tools", COLUMNS);
  const nothing = el("p", { class: "nothing" });

  const filter = () => {
    const words = search.value.trim().toLowerCase();
    const shown = rows.filter((each) => each.matches(words, server.value, state.value));
    fill(body, ...shown.map((each) => each.node));
    fill(count, shown.length === rows.length ? `${rows.length} tools` : `${shown.length} of ${rows.length} tools`);
    node.hidden = shown.length === 0;
    fill(nothing, shown.length === 0 ? emptiness(wanted, known) : null);
  };
  for (const control of [search, server, state]) control.addEventListener("input", filter);
  filter();
  return el("section", {},
    el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title), count),
    el("div", { class: "toolbar", role: "search" }, search, server, state), node, nothing);
}

/** The server of a tool, in the choice of servers. */
const sourceOf = (tool) => tool.server_id ?? tool.server;

/** Distinguishes servers of one name. */
function ownerNote(server, me) {
  if (!server || server.owner_id === me.id) return "";
  return server.system ? " (all users)" : ` (${visible(server.owner_handle)})`;
}

/** Why there is nothing to see. */
function emptiness(wanted, known) {
  const server = wanted ? known.get(wanted) : null;
  return server?.last_error ? `${visible(server.slug)} offers no tools: ${visible(server.last_error)}` : "No tool matches.";
}

class Row {
  constructor(tool, server, me) {
    this.tool = tool;
    this.server = server;
    this.me = me;
    this.name = el("button", { type: "button", class: "link mono", onclick: () => this.open() }, visible(tool.name));
    this.about = el("span", { class: "about" });
    this.state = el("span");
    this.on = el("span", { class: "cell" });
    this.scope = el("span", { class: "cell" });
    this.node = row(COLUMNS, [
      el("div", {}, this.name, this.about), visible(tool.server) + ownerNote(server, me), this.scope, this.state, this.on,
    ]);
    this.node.dataset.tool = tool.name;
    this.makeScope();
    this.makeSwitch();
    this.draw();
  }

  matches(words, server, state) {
    const { name, description, enabled, approval } = this.tool;
    const states = { on: enabled, off: !enabled, changed: approval !== "approved" };
    return (!words || `${name}\n${description}`.toLowerCase().includes(words))
      && (!server || sourceOf(this.tool) === server) && (!state || states[state]);
  }

  /** Whoever owns the server sets the scope, and administrators. */
  makeScope() {
    if (!this.me.is_admin && !this.server) return;
    const label = `Scope of ${visible(this.tool.name)}`;
    this.choice = select({ "aria-label": label }, SCOPES, this.tool.scope);
    this.choice.addEventListener("change", () => this.change(this.choice, { scope: this.choice.value }));
    fill(this.scope, this.choice);
  }

  makeSwitch() {
    if ((!this.me.is_admin && !this.server) || this.server?.enabled === false) return;
    this.flip = toggle(`${visible(this.tool.name)} is on`, this.tool.enabled);
    this.flip.addEventListener("change", () => this.change(this.flip, { enabled: this.flip.checked }));
    fill(this.on, this.flip);
  }

  async change(control, asked) {
    control.disabled = true;
    try {
      this.tool = await patch(`/v1/tools/${encodeURIComponent(this.tool.id)}`, asked);
      say("scope" in asked
        ? `${this.tool.name} may now be called from: ${scopeWords(this.tool.scope)}.`
        : `${this.tool.name} is now ${this.tool.enabled ? "on" : "off"}.`);
    } catch (error) {
      complain(error);
    }
    control.disabled = false;
    this.draw();
    control.focus();
  }

  /** Shows what is so, also after a change that was refused. */
  draw() {
    const { tool } = this;
    const waits = tool.approval !== "approved";
    this.about.textContent = visible(tool.description);
    this.node.classList.toggle("off", !tool.enabled);
    if (this.choice) this.choice.value = tool.scope;
    else fill(this.scope, scopeWords(tool.scope));
    if (this.flip) this.flip.checked = tool.enabled;
    else fill(this.on, this.server?.enabled === false ? "server is off" : tool.enabled ? "on" : "off");
    fill(this.state, waits
      ? el("button", { type: "button", class: "badge warn", onclick: () => this.open() }, `${tool.approval}: review`)
      : el("span", { class: "badge fine" }, "approved"));
  }

  async open() {
    try {
      const detail = await get(`/v1/tools/${encodeURIComponent(this.tool.id)}`);
      review(detail, this.me, (approved) => {
        this.tool = approved;
        this.draw();
        this.name.focus();
      });
    } catch (error) {
      complain(error);
    }
  }
}
