// The console: who is signed in, which page is shown. A page is a module, loaded when it is first opened, whose
// `render` is given the user, the rest of its address (`path`, `query`), a signal that is
// aborted when the page is left, and `reload`, which shows the page anew. The fragment is the address: `#/requests/ID/board?…`.

import { get, signOut } from "./api.js";
import { el, fill } from "./dom.js";
import { drawPages } from "./nav.js";
import { complain, reasons } from "./notices.js";
import { current } from "./session.js";
import * as signin from "./signin.js";

const PAGES = {
  home: { title: "Home", load: () => import("./home.js") },
  requests: { title: "Requests", load: () => import("./requests.js") },
  tasks: { title: "Tasks", load: () => import("./tasks.js") },
  projects: { title: "Projects", load: () => import("./projects.js") },
  traces: { title: "Traces", load: () => import("./traces.js") },
  skills: { title: "Skills", load: () => import("./skills.js") },
  tools: { title: "Tools", load: () => import("./tools.js") },
  servers: { title: "Servers", load: () => import("./servers.js") },
  admin: { title: "Administration", load: () => import("./admin.js") },
  audit: { title: "Audit", load: () => import("./audit.js") },
};

const bar = document.getElementById("bar");
const main = document.getElementById("main");
let me = null;
// Counts the pages that were asked for, so that a slow one does not replace a later one.
let asked = 0;
// Ends what the page before has under way: streams and timers.
let leaving = new AbortController();

function place() {
  const [address, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...path] = address.split("/").filter(Boolean).map(decodeSegment);
  const known = Object.hasOwn(PAGES, name ?? "") ? name : "home";
  return { name: known, path: known === name ? path : [], query: new URLSearchParams(query ?? "") };
}

function decodeSegment(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

async function show({ focus }) {
  const ticket = ++asked;
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  if (!current()) return showSignIn("");
  const { name, path, query } = place();
  main.setAttribute("aria-busy", "true");
  if (!main.childElementCount) fill(main, el("p", { class: "page-message" }, "Loading…"));
  try {
    const [module, user] = await Promise.all([loadPage(name), me ?? get("/v1/users/me")]);
    if (ticket !== asked) return;
    me = user;
    drawBar(name);
    document.title = `${PAGES[name].title} · CyNode`;
    const page = await module.render({ me, path, query, signal, reload: () => show({ focus: true }) });
    if (ticket !== asked) return;
    fill(main, page);
    main.removeAttribute("aria-busy");
    if (!focus) return;
    window.scrollTo(0, 0);
    main.querySelector("h1")?.focus();
  } catch (error) {
    if (ticket !== asked || !current()) return;
    main.removeAttribute("aria-busy");
    const again = el("button", { type: "button", onclick: () => show({ focus: true }) }, "Try again");
    const missing = error.status === 404
      ? el("p", {}, "It does not exist, or you may not see it. ", el("a", { href: `#/${name}` }, `Back to ${PAGES[name].title}`))
      : null;
    fill(main, el("section", { class: "page-message", role: "alert" }, ...reasons(error), missing, again));
  }
}

/** The module of a page. A browser may remember that a module was missing: then only a new visit loads it. */
async function loadPage(name) {
  try {
    return await PAGES[name].load();
  } catch {
    throw new Error("This page cannot be loaded. Is CyNode running? Reload the console when it is.");
  }
}

function drawBar(name) {
  bar.hidden = false;
  drawPages(document.getElementById("pages"), PAGES, name);
  fill(document.getElementById("who"), me.handle, me.is_admin ? el("small", {}, "administrator") : null);
}

function showSignIn(words) {
  asked += 1;
  leaving.abort();
  me = null;
  bar.hidden = true;
  main.removeAttribute("aria-busy");
  document.title = "Sign in · CyNode";
  document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
  fill(document.getElementById("notices"));
  fill(main, signin.render(words, () => show({ focus: true })));
}

document.getElementById("leave").addEventListener("click", async () => {
  // The page goes first: the tokens are forgotten whatever the server says.
  const ended = signOut();
  showSignIn("");
  await ended.catch(complain);
});
document.getElementById("skip").addEventListener("click", (event) => {
  // The fragment is the address of a page, so the jump is made by hand.
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", () => show({ focus: true }));
window.addEventListener("signed-out", () => showSignIn("Your session has ended. Sign in again."));
show({ focus: false });
