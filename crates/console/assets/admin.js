// Administration: its parts, each with an address of its own. People who are no administrators see what the API lets them use.

import * as agents from "./agents.js";
import * as credentials from "./credentials.js";
import { el, tabs } from "./dom.js";
import * as leases from "./leases.js";
import * as nodes from "./nodes.js";
import * as notifications from "./notifications.js";
import * as people from "./people.js";
import * as rules from "./rules.js";
import * as settings from "./settings.js";

export const title = "Administration";

/** The parts. `create` is given the person, the rest of the address and a signal, and returns a node. */
const PARTS = { nodes, people, rules, credentials, settings, agents, notifications, leases };
const FIRST = "nodes";

/** The address of a part. */
const partAddress = (key) => `#/admin${key === FIRST ? "" : `/${key}`}`;

export async function render({ path: [name], me, query, signal, reload }) {
  const chosen = Object.hasOwn(PARTS, name ?? "") ? name : FIRST;
  document.title = `${PARTS[chosen].title} · ${title} · CyNode`;
  const part = await PARTS[chosen].create({ me, query, signal, reload });
  return el("section", {}, el("h1", { tabindex: "-1" }, title), tabs("Parts of the administration", PARTS, chosen, partAddress), part);
}
