// The users, the groups, and the own account.

import * as account from "./account.js";
import { el } from "./dom.js";
import * as groups from "./groups.js";
import * as users from "./users.js";

export const title = "People";

export async function create(context) {
  const { me, query } = context;
  if (query.get("group")) return groups.memberPart(context, query.get("group"));
  // Without administrator rights, the own account comes first.
  const parts = me.is_admin ? [users, groups, account] : [account, groups];
  return el("div", {}, await Promise.all(parts.map((part) => part.create(context))));
}
