// The console: who is signed in, which page is shown. A page is a module with a title and
// `render`, which is given the user and the query of its address.

import { get, signOut } from "./api.js";
import { el, fill } from "./dom.js";
import { complain, reasons } from "./notices.js";
import { current } from "./session.js";
import * as audit from "./audit.js";
import * as servers from "./servers.js";
import * as signin from "./signin.js";
import * as tools from "./tools.js";

const PAGES = { tools, servers, audit };

const bar = document.getElementById("bar");
const main = document.getElementById("main");
let me = null;
// Counts the pages that were asked for, so that a slow one does not replace a later one.
let asked = 0;

function place() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  const known = Object.hasOwn(PAGES, name) ? name : "tools";
  return { name: known, query: new URLSearchParams(query ?? "") };
}

async function show({ focus }) {
  const ticket = ++asked;
  if (!current()) return showSignIn("");
  const { name, query } = place();
  try {
    me ??= await get("/v1/users/me");
    if (ticket !== asked) return;
    drawBar(name);
    document.title = `${PAGES[name].title} · CyNode`;
    const page = await PAGES[name].render({ me, query });
    if (ticket !== asked) return;
    fill(main, page);
    if (focus) main.querySelector("h1")?.focus();
  } catch (error) {
    if (ticket !== asked || !current()) return;
    const again = el("button", { type: "button", onclick: () => show({ focus: true }) }, "Try again");
    fill(main, el("section", { class: "page-message", role: "alert" }, ...reasons(error), again));
  }
}

function drawBar(name) {
  bar.hidden = false;
  const link = ([key, page]) =>
    el("a", { href: `#/${key}`, "aria-current": key === name ? "page" : null }, page.title);
  fill(document.getElementById("pages"), Object.entries(PAGES).map(link));
  fill(document.getElementById("who"), me.handle, me.is_admin ? el("small", {}, "administrator") : null);
}

function showSignIn(words) {
  asked += 1;
  me = null;
  bar.hidden = true;
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
