// The runs as the server has them, followed by events; and what else is asked of it.

import { by, make, write } from "./dom.js";

const NOTICE_MS = 8000;
export const WHICH = ["all", "active", "completed", "failed", "stopped", "interrupted"];

export const rows = new Map();
export const wanted = { which: "all", words: "" };
export const about = { project: "", machine: "" };
const listeners = [];
let events = null;

// Has it called with { rows, gone, ... } after each change.
export const onNews = (listener) => listeners.push(listener);

export function listen() {
  events?.close();
  const first = { now: true };
  events = new EventSource(`events?${new URLSearchParams(wanted)}`);
  events.onopen = () => {
    write(by("connection"), "");
    first.now = true;
  };
  events.onerror = () => write(by("connection"), "no connection: is `subagents watch` still running?");
  events.onmessage = ({ data }) => {
    const news = JSON.parse(data);
    if (first.now) rows.clear();
    for (const row of news.rows || []) rows.set(row.runId, row);
    for (const id of news.gone || []) rows.delete(id);
    if (news.about) Object.assign(about, news.about);
    for (const { text, bad } of news.notices || []) notice(text, bad);
    for (const each of listeners) each({ ...news, first: first.now });
    first.now = false;
  };
}

export async function ask(path, query = {}) {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`);
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

export async function act(what, id, body) {
  try {
    const answer = await fetch(`${what}/${encodeURIComponent(id)}`, { method: "POST", body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(String(answer.status));
    const { text, bad } = await answer.json();
    notice(text, bad);
  } catch (error) {
    notice(`Not done: ${error.message}`, true);
  }
}

export function notice(text, bad = false) {
  const p = make("p", { class: bad ? "bad" : "" }, text);
  by("notices").append(p);
  setTimeout(() => p.remove(), NOTICE_MS);
}
