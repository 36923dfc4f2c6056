// Agents: the programs of other vendors that work as agents, and the tokens that agents present.

import * as agentProfiles from "./agent-profiles.js";
import * as agentTokens from "./agent-tokens.js";
import { el } from "./dom.js";

export const title = "Agents";

export const create = async (context) => el("div", {}, await agentProfiles.create(context), await agentTokens.create(context));
