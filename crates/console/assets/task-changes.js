// What a task changed in its repository.

import { get } from "./api.js";
import { drawChanges } from "./changes.js";
import { el, fill, nothing, select } from "./dom.js";
import { reasons } from "./notices.js";

export const title = "Changes";

export async function create({ view, signal }) {
  const place = el("div");
  const scope = select({ "aria-label": "Changes" }, [["own", "Of this task"], ["all", "With those of the tasks that it builds on"]], "own");
  let [shown, asked] = [null, 0];
  const load = async () => {
    const ticket = ++asked;
    try {
      const diff = await get(`/v1/tasks/${encodeURIComponent(view.task.id)}/diff?all=${scope.value === "all"}`);
      const content = JSON.stringify(diff);
      if (ticket !== asked || signal.aborted || content === shown) return;
      shown = content;
      fill(place, ...drawChanges(diff, "cynork task diff"));
    } catch (error) {
      if (ticket !== asked) return;
      shown = null;
      fill(place, error.status === 404 ? nothing("Nothing is changed yet.") : el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
  };
  scope.addEventListener("change", load);
  await load();
  const toolbar = view.task.builds_on?.length ? el("div", { class: "toolbar" }, scope) : null;
  return { node: el("div", { class: "part" }, toolbar, place), update: load };
}
