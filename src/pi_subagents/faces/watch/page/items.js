// One item of a transcript: what was said, a tool call that opens, a question, a note.

import { make, write } from "./dom.js";
import { amount, clock, money, partLength } from "./format.js";
import { markdown } from "./markdown.js";
import { isPatch, patch } from "./patch.js";
import { ask } from "./store.js";

const NOTES = { note: "", error: "stderr", limit: "limit" };

export function itemOf(item, runId) {
  const element = MAKERS[item.kind]?.(item, runId);
  if (element) element.dataset.t = item.t;
  return element;
}

const who = (name, item, ...facts) => make("div", { class: "who" }, make("span", {}, name), ...facts.map((fact) => make("span", { class: "fact" }, fact)), make("a", { class: "took", href: `#${new URLSearchParams({ run: item.runId, item: item.seq })}`, title: "A link to this" }, clock(item.t)));

// What was cut can be had.
function whole(item, runId, box, show) {
  if (!item.left) return [];
  const more = make("button", { class: "more", on: { click: async () => {
    const found = await ask(`item/${runId}`, { seq: item.seq }).catch(() => null);
    if (found) { box.replaceChildren(show(found.text)); more.remove(); }
  } } }, `Show ${amount(item.left)} more characters`);
  return [more];
}

function texts(kind, name, show) {
  return (item, runId) => {
    const body = make("div", { class: "body" }, show(item.text));
    return make("div", { class: `item ${kind}` }, who(name, { ...item, runId }), body, ...whole(item, runId, body, show));
  };
}

const plain = (text) => make("div", { class: "plain" }, text);

const MAKERS = {
  asked: texts("asked", "Asked", plain),
  value: texts("value", "Answer as a value", (text) => make("pre", { tabIndex: 0 }, text)),
  note: note, error: note, limit: note,
  question(item, runId) {
    const options = item.options.length ? make("ol", {}, ...item.options.map((option) => make("li", {}, option))) : null;
    return make("div", { class: "item question" }, who("Asks", { ...item, runId }), plain(item.text), options);
  },
  said(item, runId) {
    if (!item.text && !item.error) return null;
    const facts = [item.model, item.tokens ? `${amount(item.tokens)} tokens` : "", item.cost ? money(item.cost) : "", item.took ? partLength(item.took) : ""].filter(Boolean);
    const body = make("div", { class: "body" }, item.text ? markdown(item.text) : "");
    const error = item.error ? make("p", { class: "bad" }, item.error) : null;
    return make("div", { class: "item said-text" }, who("Says", { ...item, runId }, ...facts), body, ...whole(item, runId, body, markdown), error);
  },
  call(item, runId) {
    const sign = make("span", { class: "sign working" }, "●");
    const took = make("span", { class: "took" });
    const reason = make("span", { class: "reason bad" });
    const body = make("div", { class: "body" }, "Reading...");
    const element = make("details", { class: `item toolcall${item.below ? " below" : ""}` }, make("summary", {}, sign, make("code", {}, item.title || item.name), reason, took), body);
    let read = null; // whether its result was there
    const load = async () => {
      if (read) return;
      const found = await ask(`item/${runId}`, { seq: item.seq }).catch(() => null);
      if (!found) return write(body, "This cannot be read any more.");
      read = found.done;
      body.replaceChildren(...details(found, { ...item, runId }));
    };
    element.addEventListener("toggle", () => element.open && load());
    element.finished = (result) => {
      sign.className = result.failed ? "sign bad" : "sign good";
      write(sign, result.failed ? "✗" : "✓");
      write(took, result.took || result.t > item.t ? partLength(result.took || result.t - item.t) : "");
      write(reason, result.reason);
      if (element.open) load();
    };
    return element;
  },
  // Of a call that is not in the page.
  result(item) {
    const sign = make("span", { class: item.failed ? "sign bad" : "sign good" }, item.failed ? "✗" : "✓");
    return make("div", { class: "item note" }, sign, ` ${item.name}${item.reason ? `: ${item.reason}` : ""}`);
  },
};

function note(item, runId) {
  const name = NOTES[item.kind];
  const body = make("div", { class: "body" }, item.text);
  return make("div", { class: `item ${item.kind}` }, name ? make("span", { class: "fact" }, name) : null, body, ...whole(item, runId, body, plain));
}

function details(found, item) {
  const parts = [];
  if (found.diff) parts.push(make("h3", {}, "Changes"), patch(found.diff));
  if (found.arguments.length) {
    const shown = found.arguments.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, make("pre", { tabIndex: 0 }, text))]);
    const list = make("dl", { class: "arguments" }, ...shown);
    parts.push(found.diff ? make("details", {}, make("summary", {}, "Arguments"), list) : make("div", {}, make("h3", {}, "Arguments"), list));
  }
  const output = !found.done ? plain("It is still at work.") : !found.output ? plain("No output.") : isPatch(found.output) ? patch(found.output) : make("pre", { class: found.failed ? "output failed" : "output", tabIndex: 0 }, found.output);
  parts.push(make("h3", {}, "Output"), output);
  parts.push(make("a", { class: "fact", href: `#${new URLSearchParams({ run: item.runId, item: item.seq })}` }, "A link to this"));
  return parts;
}
