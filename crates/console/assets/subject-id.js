// The ids of users, groups, projects and tasks by name, and names by id.

import { get } from "./api.js";

/** How many users and groups have their names shown instead of their ids. */
const MOST_NAMES = 200;
/** How many users are read at once. */
const PAGE = 200;

/** Handles and group names by id, as far as the person may list them. */
export async function namesById(me) {
  const [users, groups] = await Promise.all([me.is_admin ? get(`/v1/users?limit=${MOST_NAMES}`) : { items: [me] }, get(`/v1/groups?limit=${MOST_NAMES}`)]);
  return new Map([...users.items.map((each) => [each.id, each.handle]), ...groups.items.map((each) => [each.id, each.name])]);
}

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
