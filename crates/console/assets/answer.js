// Questions to a person, and the forms that answer them.

import { post } from "./api.js";
import { el, fill, field, select, visible } from "./dom.js";
import { reasons, say } from "./notices.js";

/** Answers that need no words. */
const VERBS = ["yes", "no", "retry"];
/** Answers in words: the label, the verb, and the reply that the API takes. */
const TEXTS = {
  text: ["What should be done", "Send", (text) => ({ form: "text", text })],
  commands: ["Commands, one on each line", "Run these commands", (text) => ({ form: "commands", lines: text.split("\n").filter((line) => line.trim()) })],
  script: ["Script", "Run this script", (text) => ({ form: "script", text })],
};
const INSTRUCTIONS = [
  ["continue", "Continue"], ["revise", "Revise"], ["reduce_scope", "Reduce the scope"],
  ["expand_scope", "Expand the scope"], ["pause", "Pause"], ["abort", "Stop for good"],
];

/** The question itself, with what it is about. */
export function questionText({ text, about }) {
  const lines = (about ?? []).map((line) => el("li", {}, visible(line)));
  return el("div", { class: "question" }, el("p", { class: "prose" }, visible(text)),
    lines.length ? el("ul", { class: "mono" }, lines) : null);
}

/** A form that answers a question of a request or a run at `path`; `answered` gets what the server returns. */
export function answerForm(path, accepts, answered) {
  const comment = el("input", { name: "comment", autocomplete: "off", maxlength: "1000" });
  const texts = accepts.filter((form) => form in TEXTS).map((form) => {
    const [label, words, reply] = TEXTS[form];
    const input = el("textarea", { name: form, rows: "3" });
    return { label, words, input, reply: () => reply(input.value) };
  });
  const send = (reply) => post(path, { reply, comment: comment.value.trim() || undefined });
  const parts = texts.map(({ label, input }) => field(label, input));
  const verbs = accepts.filter((form) => VERBS.includes(form));
  if (verbs.length) parts.push(field("Comment (optional)", comment));
  const isApproval = verbs.includes("yes");
  const verb = (form, words, tone) => (verbs.includes(form) ? [{ words, tone, form, act: () => send({ form }) }] : []);
  const buttons = [
    ...verb("yes", "Approve", "main"),
    ...texts.map(({ words, input, reply }) => ({
      words, tone: isApproval ? "" : "main", form: input.name,
      act: () => (input.value.trim() ? send(reply()) : Promise.reject(new Error("Write an answer first."))),
    })),
    ...verb("retry", "Try again", ""), ...verb("no", isApproval ? "Decline" : "Give up", "danger"),
  ];
  return form(parts, buttons, answered);
}

/** A form that answers a message of an agent. */
export function messageForm(message, answered) {
  const text = el("textarea", { name: "text", rows: "3" });
  const instruction = select({ name: "instruction" }, INSTRUCTIONS, "continue");
  const act = () => (text.value.trim()
    ? post(`/v1/inbox/${encodeURIComponent(message.id)}/answer`, { text: text.value, instruction: instruction.value })
    : Promise.reject(new Error("Write an answer first.")));
  return form([field("Answer", text), field("The agent should", instruction)],
    [{ words: "Send", tone: "main", form: "send", act }], answered);
}

function form(parts, verbs, answered) {
  const trouble = el("div", { role: "alert", class: "trouble" });
  const buttons = verbs.map(({ words, tone, form: name, act }) => {
    const button = el("button", { type: "button", class: tone, "data-reply": name }, words);
    button.addEventListener("click", async () => {
      buttons.forEach((each) => (each.disabled = true));
      fill(trouble);
      try {
        const result = await act();
        say("Your answer is sent.");
        answered(result);
      } catch (error) {
        fill(trouble, ...reasons(error));
      }
      buttons.forEach((each) => (each.disabled = false));
    });
    return button;
  });
  const node = el("form", { class: "answer" }, ...parts, trouble, el("div", { class: "actions" }, buttons));
  node.addEventListener("submit", (event) => event.preventDefault());
  return node;
}
