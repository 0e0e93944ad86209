// What stands on the right while no run is open: all runs, a day, or a call.

import { usedByWhen, usedOverTime } from "./charts.js";
import { make, paced, write } from "./dom.js";
import { clock, counted, dayName, dayOf, elapsed, endOf, length, used } from "./format.js";
import { callsOf } from "./groups.js";
import { about, ask, rows } from "./store.js";
import { Timeline } from "./timeline.js";

const CHART_MS = 1000;
const AT_ONCE = 60; // runs whose messages are added up
const TILES = ["active", "waiting", "completed", "failed", "stopped", "interrupted"];

const bySession = (found) => callsOf(found).flatMap((call) => call.runs);

// One pane for all of them: which runs, in which words, with which chart.
class Runs {
  constructor({ title, select, byClock, chart, above = null }) {
    Object.assign(this, { select, chart, title, above });
    this.heading = make("h2", { tabIndex: -1 });
    this.facts = make("p", { class: "facts" });
    this.charts = make("div");
    this.timeline = new Timeline({ ids: () => bySession(this.select()).map((row) => row.runId), byClock });
    const close = make("a", { class: "button back", href: "#" }, "Back (Esc)");
    this.element = make("div", { class: "overview" }, make("div", { class: "head" }, close, this.heading, this.facts), above, this.charts, make("h3", {}, "Timeline"), this.timeline.element);
    this.chartSoon = paced(() => this.drawCharts(), CHART_MS);
    this.update({ rows: [] });
  }

  update({ rows: changed = [] }) {
    const found = this.select();
    write(this.heading, this.title(found));
    write(this.facts, factsOf(found));
    this.chartSoon();
    this.timeline.update(changed);
  }

  async drawCharts() {
    const found = this.select();
    const drawn = found.length ? await this.chart(found).catch(() => null) : null;
    if (drawn) this.charts.replaceChildren(drawn);
  }

  tick() {
    this.timeline.tick();
  }

  close() {}
}

const beginOf = (found) => found.reduce((first, row) => Math.min(first, row.createdAt), Infinity);
const lastOf = (found) => found.reduce((last, row) => Math.max(last, endOf(row)), 0);

function factsOf(found) {
  if (!found.length) return "";
  const [begin, end] = [beginOf(found), lastOf(found)];
  const work = found.reduce((sum, row) => sum + elapsed(row), 0);
  return [counted(found.length, "run"), `from ${clock(begin)} for ${length(end - begin)}`, `${length(work)} of work`, used(found)].filter(Boolean).join(" · ");
}

export function callPane(callId) {
  const select = () => [...rows.values()].filter((row) => row.callId === callId);
  const title = (found) => (found.length ? `${dayName(dayOf(beginOf(found)))}, call of ${clock(beginOf(found), false)}` : "No such call here");
  const chart = async (found) => usedByWhen(await ask("spending", { runs: found.slice(0, AT_ONCE).map((row) => row.runId) }), beginOf(found), lastOf(found));
  return new Runs({ title, select, byClock: false, chart });
}

export function dayPane(day) {
  const work = day === "work";
  const select = () => [...rows.values()].filter((row) => (work ? row.active : dayOf(row.createdAt) === day));
  const chart = async (found) => (work ? usedOverTime(found) : usedOverTime(found, day));
  return new Runs({ title: () => (work ? "At work" : dayName(day)), select, byClock: true, chart });
}

export function overviewPane() {
  const tiles = Object.fromEntries(TILES.map((name) => [name, make("dd", {}, "0")]));
  const above = make("dl", { class: "tiles" }, ...TILES.map((name) => make("div", { class: name }, make("dt", {}, name), tiles[name])));
  const newest = () => [...rows.values()].reduce((last, row) => Math.max(last, row.createdAt), 0);
  // What is at work, and the newest day: older ones are had from the list.
  const select = () => {
    const day = dayOf(newest());
    return [...rows.values()].filter((row) => row.active || dayOf(row.createdAt) === day);
  };
  const title = () => (about.project ? `Runs of ${about.project}` : "Runs of this machine");
  const pane = new Runs({ title, select, byClock: true, above, chart: async () => usedOverTime([...rows.values()]) });
  const update = pane.update.bind(pane);
  pane.update = (news) => {
    for (const name of TILES) if (news.counts) write(tiles[name], String(news.counts[name] ?? 0));
    update(news);
  };
  return pane;
}
