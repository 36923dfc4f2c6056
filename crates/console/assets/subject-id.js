// The ids of users, groups, projects and tasks, by name.

import { get } from "./api.js";

/** How many users are read at once. */
const PAGE = 200;

/** The id of what a rule or a preference is for, by name or id; `kind` is `user`, `group`, `project` or `task`. */
export async function subjectId(kind, name) {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(name)) return name;
  if (kind !== "user") return (await get(`/v1/${kind}s/${encodeURIComponent(name)}`)).id;
  let cursor = null;
  do {
    const page = await get(`/v1/users?${new URLSearchParams({ limit: PAGE, ...(cursor ? { cursor } : {}) })}`);
    const found = page.items.find(({ handle }) => handle === name);
    if (found) return found.id;
    cursor = page.next_cursor;
  } while (cursor);
  throw new Error(`There is no user “${name}”.`);
}
