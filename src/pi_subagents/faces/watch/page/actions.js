// What is done to a run: asked about first where it cannot be undone, then asked of the server.

import { by } from "./dom.js";
import { cut, short } from "./format.js";
import { act, ask as fetched, notice, rows } from "./store.js";

const MAX_NAME = 60;
const NO_WORKTREE = "It had no worktree of its own: there is nothing to take.";

// The filter may hide the run that is open: then only its own stream has it.
let opened = null;
export const setOpened = (row) => { opened = row; };
export const dataOf = (id) => (opened?.runId === id ? opened : rows.get(id));
export const nameOf = (id) => cut(dataOf(id)?.title || short(id), MAX_NAME);

function question(text, yes, done, { prompt = false } = {}) {
  by("ask-question").textContent = text;
  by("ask-yes").textContent = yes;
  const field = by("ask-text");
  field.hidden = !prompt;
  field.value = "";
  // Not by the dialog's close event, which may come when the next question is asked already.
  by("ask").querySelector("form").onsubmit = ({ submitter }) => { if (submitter?.value === "yes") done(field.value); };
  by("ask").showModal();
  (prompt ? field : by("ask-no")).focus();
}

export function isGoingOn(id) {
  if (dataOf(id)?.active ?? true) return true;
  notice("It has already ended.");
  return false;
}

export function stop(id) {
  if (!id || !isGoingOn(id)) return;
  question(`Stop ${nameOf(id)}? Everything it started ends, too; the run stays in the list as stopped.`, "Stop", () => act("stop", id, {}));
}

export const hasChanges = (id) => {
  if (dataOf(id)?.hasChanges) return true;
  notice(NO_WORKTREE);
  return false;
};

export function take(id) {
  if (id && hasChanges(id)) question(`Take what ${nameOf(id)} changed into the checkout it was made for? All of it, or nothing.`, "Apply", () => act("apply", id, {}));
}

export function discard(id) {
  if (id && hasChanges(id)) question(`Throw away what ${nameOf(id)} changed? It cannot be had back.`, "Discard", () => act("discard", id, {}));
}

export function resume(id) {
  const data = dataOf(id);
  if (!data) return;
  // Its own stream may know of its end before the list does.
  const others = [...rows].filter(([other]) => other !== id).map(([, row]) => row);
  if ([data, ...others].some((each) => each.active && each.sessionId === data.sessionId)) {
    notice(`Not resumed: Cannot resume: session "${data.sessionId}" is still running. Wait for it to complete before resuming.`);
    return;
  }
  question(`Go on with the session of ${nameOf(id)}. What should it do now?`, "Start", (prompt) => act("resume", id, { prompt }), { prompt: true });
}

export function send(id, text) {
  if (!text.trim() || !isGoingOn(id)) return false;
  const waits = dataOf(id)?.waitingFor;
  const asks = waits?.kind === "question" ? waits.id : undefined;
  notice(`Sent to ${nameOf(id)}...`);
  act(asks ? "answer" : "steer", id, { message: text, question: asks });
  return true;
}

export const changesOf = (id) => fetched(`changes/${encodeURIComponent(id)}`);

export async function copy(text, shown = text) {
  try {
    await navigator.clipboard.writeText(text);
    notice(`Copied: ${shown}`);
  } catch {
    notice(text);
  }
}

by("ask").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.ctrlKey) by("ask").querySelector("form").requestSubmit(by("ask-yes"));
});
