// Put runs in order: what is at work, then day by day, by call. Values only, no page.

import { clock, counted, dayName, dayOf, used } from "./format.js";

const AT_WORK = "work";
const MAX_NAMES = 8;

// Returns the entries of the list from top to bottom, without those that are folded away.
export function entriesOf(rows, folded, now = Date.now()) {
  const sections = new Map();
  for (const call of callsOf(rows)) {
    const section = call.active ? AT_WORK : dayOf(call.createdAt);
    if (!sections.has(section)) sections.set(section, []);
    sections.get(section).push(call);
  }
  const names = [...sections.keys()].sort((a, b) => (a === AT_WORK ? -1 : b === AT_WORK ? 1 : a < b ? 1 : -1));
  return names.flatMap((name, place) => section(name, sections.get(name), { folded, now, place: place + 1, of: names.length }));
}

// Returns calls with their runs, the newest call first, the oldest run of a call first.
export function callsOf(rows) {
  const calls = new Map();
  for (const row of rows) {
    if (!calls.has(row.callId)) calls.set(row.callId, []);
    calls.get(row.callId).push(row);
  }
  const found = [];
  for (const [callId, runs] of calls) {
    runs.sort((a, b) => a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : 1));
    found.push({ callId, runs, createdAt: runs[0].createdAt, active: runs.some((row) => row.active) });
  }
  return found.sort((a, b) => b.createdAt - a.createdAt || (a.callId < b.callId ? 1 : -1));
}

function section(name, calls, { folded, now, place, of }) {
  const runs = calls.flatMap((call) => call.runs);
  const key = name === AT_WORK ? AT_WORK : `day:${name}`;
  const open = !folded.has(key);
  const title = name === AT_WORK ? "At work" : dayName(name, now);
  const facts = [counted(runs.length, "run"), used(runs)].filter(Boolean).join(" · ");
  const head = { kind: "day", key, title, facts, open, level: 1, place, of, runs, day: name };
  if (!open) return [head];
  return [head, ...calls.flatMap((call, n) => callEntries(call, folded, { place: n + 1, of: calls.length }))];
}

function callEntries(call, folded, where) {
  if (call.runs.length === 1) return [{ kind: "run", key: `run:${call.runs[0].runId}`, row: call.runs[0], level: 2, ...where }];
  const key = `call:${call.callId}`;
  const open = !folded.has(key);
  const head = { kind: "call", key, ...describedCall(call), open, level: 2, ...where, runs: call.runs, callId: call.callId };
  const of = call.runs.length;
  const runs = call.runs.map((row, n) => ({ kind: "run", key: `run:${row.runId}`, row, level: 3, place: n + 1, of }));
  return open ? [head, ...runs] : [head];
}

export function describedCall(call) {
  const signs = new Map();
  for (const { sign, role } of call.runs) signs.set(sign, { sign, role, count: (signs.get(sign)?.count || 0) + 1 });
  const title = call.runs.slice(0, MAX_NAMES).map((row) => row.title).join(", ");
  const facts = used(call.runs);
  return { title, time: clock(call.createdAt, false), signs: [...signs.values()], facts };
}
