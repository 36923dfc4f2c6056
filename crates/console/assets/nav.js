// The navigation. In a narrow window, the pages that people open less often are behind a button.

import { el, fill } from "./dom.js";

/** How many pages are always shown. */
const FIRST = 4;

/** Shows the links to the pages; `current` is the key of the page that is open. */
export function drawPages(nav, pages, current) {
  const link = ([key, { title }]) =>
    el("a", { href: `#/${key}`, "aria-current": key === current ? "page" : null }, title);
  const all = Object.entries(pages);
  const open = all.slice(FIRST).find(([key]) => key === current);
  const others = el("div", { id: "other-pages" }, all.slice(FIRST).map(link));
  const more = el("button", {
    type: "button", class: "more-pages", "aria-expanded": "false", "aria-controls": "other-pages", "aria-current": open ? "true" : null,
    "aria-label": open ? `${open[1].title}: more pages` : "More pages",
  }, open ? open[1].title : "More");
  const expand = (isExpanded) => more.setAttribute("aria-expanded", String(isExpanded));
  more.addEventListener("click", () => expand(more.getAttribute("aria-expanded") === "false"));
  others.addEventListener("click", () => expand(false));
  fill(nav, ...all.slice(0, FIRST).map(link), more, others);
  nav.onkeydown = (event) => {
    if (event.key !== "Escape" || more.getAttribute("aria-expanded") === "false") return;
    expand(false);
    more.focus();
  };
}
