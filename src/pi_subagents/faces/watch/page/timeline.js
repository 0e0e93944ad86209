// Bars of runs on one scale of time: tool calls as segments, waits and limits hatched, live.

import { make, paced, write } from "./dom.js";
import { counted, endOf, length, partLength } from "./format.js";
import { marksOf, scaleOf } from "./scale.js";
import { ask, rows as known } from "./store.js";

const ROW = 34;
const BEYOND = 5; // rows
const AT_ONCE = 60;
const MAX_KEPT = 2000;
const MARKS = 6;
const LEGEND = [["model", "model"], ["tool", "tool"], ["tool failed", "tool failed"], ["wait", "waits"], ["limit", "limit"]];
const WAITS = { start: "waits to begin", question: "asks", limit: "limit of the provider", retry: "pause before another attempt" };
const bars = new Map(); // by run; what is over does not change any more

const kindOf = ({ kind, failed }) => (kind === "tool" ? (failed ? "tool failed" : "tool") : kind === "limit" || kind === "retry" ? "limit" : "wait");

function wordsOf(segment) {
  const what = segment.detail || segment.name || "";
  const said = segment.kind === "tool" ? what : [WAITS[segment.kind], what].filter(Boolean).join(": ");
  const failed = segment.failed ? `, failed: ${segment.reason || "no reason given"}` : "";
  return `${said}, ${partLength(segment.end - segment.begin)}${failed}`;
}

export const legend = () => make("ul", { class: "legend" }, ...LEGEND.map(([kind, word]) => make("li", {}, make("span", { class: `sample ${kind}`, "aria-hidden": "true" }), word)));

// `ids` are the runs from top to bottom; `byClock` writes times of day on the scale.
export class Timeline {
  constructor({ ids, byClock = false, title = "When each run did what" }) {
    this.ids = ids;
    this.byClock = byClock;
    this.lines = new Map();
    this.asked = new Map();
    this.marks = make("div", { class: "marks", "aria-hidden": "true" });
    this.body = make("div", { class: "bars", role: "list" });
    this.box = make("div", { class: "box", tabIndex: 0, role: "group", "aria-label": title }, this.body);
    this.element = make("div", { class: "timeline" }, this.marks, this.box, legend());
    this.paintSoon = paced(() => this.paint(), 200);
    this.box.addEventListener("scroll", this.paintSoon, { passive: true });
    this.paintSoon();
  }

  runs() {
    return this.ids().map((id) => known.get(id)).filter(Boolean);
  }

  // What became of these runs since: their bars are asked for again.
  update(changed) {
    for (const { runId } of changed) this.asked.delete(runId);
    this.paintSoon();
  }

  tick() {
    const active = this.runs().filter((row) => row.active);
    if (active.length) this.update(active); // what a tool has taken so far is no news of its run
  }

  paint() {
    const rows = this.runs();
    const now = Date.now();
    if (!rows.length || !this.element.isConnected) return;
    this.scale = scaleOf(rows.map((row) => [row.createdAt, endOf(row, now)]));
    this.body.style.height = `${rows.length * ROW}px`;
    this.drawMarks();
    const first = Math.max(Math.floor(this.box.scrollTop / ROW) - BEYOND, 0);
    const last = Math.min(Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + BEYOND, rows.length);
    const seen = rows.slice(first, last);
    seen.forEach((row, n) => this.line(row, first + n, now));
    const ids = new Set(seen.map(({ runId }) => runId));
    for (const [id, { item }] of this.lines) if (!ids.has(id)) { item.remove(); this.lines.delete(id); }
    this.load(seen);
  }

  drawMarks() {
    const most = this.marks.clientWidth < 500 ? MARKS / 2 : MARKS;
    const marks = marksOf(this.scale, most, this.byClock);
    while (this.marks.children.length > marks.length) this.marks.lastChild.remove();
    marks.forEach(({ label, at }, n) => {
      const mark = this.marks.children[n] || this.marks.appendChild(make("span"));
      write(mark, label);
      mark.style.left = `${at}%`;
    });
  }

  line(row, place, now) {
    let line = this.lines.get(row.runId);
    if (!line) {
      const [name, took] = [make("a", { class: "name", href: `#run=${row.runId}` }), make("span", { class: "took" })];
      const parts = make("div", { class: "parts" });
      const bar = make("div", { class: "bar" }, parts);
      const track = make("div", { class: "track", role: "img" }, bar);
      track.addEventListener("click", (event) => this.jump(row.runId, event));
      line = { name, took, parts, bar, track, item: make("div", { class: "line", role: "listitem" }, name, track, took) };
      this.lines.set(row.runId, line);
      this.body.append(line.item);
    }
    const bar = bars.get(row.runId);
    const end = endOf(row, now);
    line.item.style.transform = `translateY(${place * ROW}px)`;
    write(line.name, `${row.sign} ${row.title}`);
    line.name.title = row.title;
    line.name.className = `name ${row.role}`;
    write(line.took, length(end - row.createdAt));
    const [left, right] = [this.scale.at(row.createdAt), this.scale.at(end)];
    line.bar.style.left = `${left}%`;
    line.bar.style.width = `${right - left}%`;
    line.track.setAttribute("aria-label", `${row.title}: ${row.word}, ${length(end - row.createdAt)}${bar ? counts(bar) : ""}`);
    if (!bar) return;
    line.parts.style.width = `${(100 * (bar.end - bar.begin)) / Math.max(end - row.createdAt, 1)}%`;
    if (line.bar.shown !== bar) {
      line.bar.shown = bar;
      line.parts.replaceChildren(...segmentsOf(bar));
    }
  }

  // To where it was at that time.
  jump(runId, { clientX, currentTarget }) {
    const { left, width } = currentTarget.getBoundingClientRect();
    const time = Math.round(this.scale.time((100 * (clientX - left)) / width));
    location.hash = new URLSearchParams({ run: runId, time });
  }

  async load(seen) {
    const missing = seen.filter((row) => !this.asked.has(row.runId) && (row.active || bars.get(row.runId)?.active !== false));
    for (const row of missing) this.asked.set(row.runId, true);
    for (let start = 0; start < missing.length; start += AT_ONCE) {
      const part = missing.slice(start, start + AT_ONCE);
      try {
        for (const bar of await ask("bars", { runs: part.map(({ runId }) => runId) })) bars.set(bar.runId, bar);
      } catch {
        for (const row of part) this.asked.delete(row.runId); // the next look asks again
      }
    }
    while (bars.size > MAX_KEPT) bars.delete(bars.keys().next().value);
    if (missing.length) this.paintSoon();
  }
}

function counts({ segments }) {
  const calls = segments.filter(({ kind }) => kind === "tool");
  const failed = calls.filter((each) => each.failed).length;
  const waits = segments.length - calls.length;
  return `, ${counted(calls.length, "tool call")}${failed ? `, ${failed} failed` : ""}${waits ? `, ${counted(waits, "wait")}` : ""}`;
}

function segmentsOf(bar) {
  const span = Math.max(bar.end - bar.begin, 1);
  const lanes = 1 + Math.max(0, ...bar.segments.map(({ lane }) => lane));
  return bar.segments.map((segment) => {
    const part = make("span", { class: `segment ${kindOf(segment)}`, title: wordsOf(segment) });
    part.style.left = `${(100 * (segment.begin - bar.begin)) / span}%`;
    part.style.width = `${(100 * (segment.end - segment.begin)) / span}%`;
    part.style.top = `${(100 * segment.lane) / lanes}%`;
    part.style.height = `${100 / lanes}%`;
    return part;
  });
}
