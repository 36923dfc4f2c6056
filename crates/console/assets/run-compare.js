// Compares the states after two rows of the history, of one run or of two.

import { get } from "./api.js";
import { el, field, fill, nothing, row, table, visible } from "./dom.js";
import { reasons } from "./notices.js";
import { runAddress } from "./words.js";

export const title = "Compare";

const COLUMNS = ["Path", "Before", "After"];
const NAMES = ["from", "to", "with"];

export async function create({ run, query, signal }) {
  const number = (name) => el("input", { name, type: "number", min: "0", inputmode: "numeric" });
  const controls = { from: number("from"), to: number("to"), with: el("input", { name: "with", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: "200" }) };
  for (const name of NAMES) controls[name].value = query.get(name) ?? "";
  const form = el("form", { class: "submission" }, el("div", { class: "row" },
    field("From row", controls.from, "The row before, if empty."), field("To row", controls.to, "The newest one, if empty."),
    field("Of another run", controls.with, "By its id, or by the name of its task.")),
  el("div", { class: "actions" }, el("button", { type: "submit", class: "main" }, "Compare")));
  const place = el("div", { class: "part" });
  const load = async () => {
    const wanted = new URLSearchParams(NAMES.map((name) => [name, controls[name].value.trim()]).filter(([, value]) => value));
    history.replaceState(null, "", `${runAddress(run.id, "compare")}${wanted.size ? `?${wanted}` : ""}`);
    try {
      const diff = await get(`/v1/runs/${encodeURIComponent(run.id)}/diff?${wanted}`);
      if (!signal.aborted) fill(place, ...draw(diff));
    } catch (error) {
      if (!signal.aborted) fill(place, el("div", { role: "alert", class: "trouble" }, ...reasons(error)));
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    load();
  });
  await load();
  return { node: el("div", { class: "part" }, form, place), update: () => {} };
}

function draw({ from, to, differences, left_out: left }) {
  const { node, body } = table("Differences", COLUMNS);
  const value = (given) => (given === undefined ? "" : el("div", { class: "mono prose" }, visible(typeof given === "string" ? given : JSON.stringify(given))));
  fill(body, ...differences.map((each) => row(COLUMNS, [el("div", { class: "mono" }, visible(each.path)), value(each.before), value(each.after)])));
  const name = ({ run_id: id, sequence }) => [`row ${sequence} of `, el("a", { href: runAddress(id) }, el("code", {}, id))];
  return [
    el("p", { class: "soft" }, "From ", ...name(from), " to ", ...name(to)),
    differences.length ? node : nothing("No difference."),
    left ? el("p", { class: "hint" }, `And ${left} more.`) : null,
  ].filter(Boolean);
}
