// The choice of a profile of a project.

import { select, visible } from "./dom.js";

/** A choice of a profile; the default one comes first. */
export function profileChoice(profiles, chosen) {
  const sorted = [...profiles].sort((a, b) => b.is_default - a.is_default);
  const node = select({ "aria-label": "Profile" }, sorted.map(({ name }) => [name, `Profile: ${visible(name)}`]));
  node.dataset.first = sorted[0]?.name ?? "";
  if (sorted.some(({ name }) => name === chosen)) node.value = chosen;
  return node;
}
