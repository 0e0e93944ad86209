// One run from near: how it stands, what can be done, and its transcript, its time, its changes.

import { changesOf, copy, discard, resume, send, setOpened, stop, take } from "./actions.js";
import { usedByWhen } from "./charts.js";
import { make, paced, write } from "./dom.js";
import { elapsed, endOf, length, short } from "./format.js";
import { patch } from "./patch.js";
import { ask, rows } from "./store.js";
import { Timeline } from "./timeline.js";
import { Transcript } from "./transcript.js";

const CHART_MS = 2000;
const VIEWS = { transcript: "Transcript", time: "Time and cost (b)", changes: "Changes (v)" };
const START_OF_PATCH = "diff --git ";

export class RunPane {
  constructor(id) {
    this.id = id;
    this.row = rows.get(id) || null;
    this.heading = make("h2", { tabIndex: -1 });
    this.standing = make("p", { class: "standing" });
    this.facts = make("p", { class: "facts" });
    this.ending = make("div", { class: "ending" });
    this.asks = make("div", { class: "asks", role: "group", "aria-label": "What it asks" });
    this.message = make("input", { type: "text", id: "message", autocomplete: "off", "aria-label": "Message" });
    this.sender = make("form", { class: "steer", on: { submit: (event) => { event.preventDefault(); this.send(); } } }, this.message, make("button", {}, "Send"));
    this.buttons = this.makeButtons();
    this.tabs = Object.fromEntries(Object.entries(VIEWS).map(([name, title]) => [name, make("button", { role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, on: { click: () => this.show(name) } }, title)]));
    this.transcript = new Transcript(id);
    this.transcript.onRestart = () => this.listen();
    this.views = {
      transcript: this.transcript.element,
      time: make("div", { class: "time" }),
      changes: make("div", { class: "changes" }),
    };
    for (const [name, view] of Object.entries(this.views)) Object.assign(view, { id: `view-${name}`, hidden: true }).setAttribute("role", "tabpanel");
    for (const [name, view] of Object.entries(this.views)) view.setAttribute("aria-labelledby", `tab-${name}`);
    this.element = make("article", { class: "near" },
      make("div", { class: "head" }, this.heading, this.standing, this.facts, this.ending, this.asks, make("div", { class: "actions" }, ...Object.values(this.buttons), this.sender)),
      make("div", { class: "tabs", role: "tablist", "aria-label": "Parts of this run" }, ...Object.values(this.tabs)),
      ...Object.values(this.views));
    this.chartSoon = paced(() => this.drawChart(), CHART_MS);
    this.show("transcript");
    if (this.row) this.head();
    this.listen();
  }

  makeButtons() {
    const button = (title, click, kind = "") => make("button", { class: kind, on: { click } }, title);
    return {
      back: make("a", { class: "button back", href: "#" }, "Back (Esc)"),
      stop: button("Stop (s)", () => stop(this.id), "danger"),
      resume: button("Resume (r)", () => resume(this.id)),
      take: button("Apply changes (t)", () => take(this.id), "primary"),
      discard: button("Discard (x)", () => discard(this.id), "danger"),
      copy: button("Copy id (c)", () => copy(this.id, short(this.id))),
      directory: button("Copy directory (d)", () => this.row && copy(this.row.path)),
    };
  }

  listen() {
    this.events?.close();
    this.events = new EventSource(`run/${encodeURIComponent(this.id)}`);
    this.events.onmessage = ({ data }) => {
      const news = JSON.parse(data);
      if (news.missing) return this.missing(news.missing);
      this.row = news.row;
      setOpened(this.row);
      this.head();
      this.transcript.update(news);
      if (news.first && this.place) this.transcript.jump(this.place);
      this.timeline?.update([this.row]);
      if (this.timeline) this.chartSoon();
      if (this.view === "changes" && news.first) this.loadChanges();
    };
  }

  missing(text) {
    this.events.close();
    this.element.replaceChildren(make("div", { class: "head" }, this.buttons.back, this.heading));
    write(this.heading, text);
  }

  head() {
    const { row } = this;
    write(this.heading, row.title);
    const long = elapsed(row) ? (row.active ? " for " : " after ") + length(elapsed(row)) : "";
    write(this.standing, [`${row.sign} ${row.word}${long}`, row.tokens ? `${row.tokens} tokens` : "", row.cost, row.work].filter(Boolean).join(" · "));
    this.standing.className = `standing ${row.role}`;
    const facts = [row.kind, row.agent, row.model, `run ${short(row.runId)}`, row.sessionId ? `session ${short(row.sessionId)}` : "", row.background ? "in the background" : "", row.cwd];
    write(this.facts, [...new Set(facts)].filter(Boolean).join(" · "));
    write(this.ending, (row.ending || []).join("\n"));
    this.showQuestion();
    const shown = { stop: row.active, resume: !row.active, take: row.hasChanges, discard: row.hasChanges };
    for (const [name, is] of Object.entries(shown)) this.buttons[name].hidden = !is;
    this.sender.hidden = !row.active;
    this.tabs.changes.hidden = !row.hasChanges;
  }

  showQuestion() {
    const asks = this.row.waitingFor?.kind === "question" ? this.row.waitingFor : null;
    this.message.placeholder = asks ? "Your answer (a)" : "A message while it works (m)";
    const key = asks ? `${asks.id} ${asks.text}` : "";
    if (this.shownQuestion === key) return;
    this.shownQuestion = key;
    this.asks.hidden = !asks;
    if (!asks) return this.asks.replaceChildren();
    const options = (asks.options || []).map((option, n) => make("button", { on: { click: () => send(this.id, option) } }, `${n + 1}. ${option}`));
    this.asks.replaceChildren(make("p", { class: "plain" }, make("strong", {}, "Asks: "), asks.text), make("div", { class: "options" }, ...options));
  }

  send() {
    if (send(this.id, this.message.value)) this.message.value = "";
  }

  write() {
    this.show("transcript");
    this.sender.hidden = false; // what is known of the run may not have come yet
    this.message.focus();
  }

  show(name) {
    this.view = name;
    for (const [each, view] of Object.entries(this.views)) view.hidden = each !== name;
    for (const [each, tab] of Object.entries(this.tabs)) {
      tab.setAttribute("aria-selected", String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
    }
    if (name === "time") this.showTime();
    if (name === "changes") this.loadChanges();
  }

  showTime() {
    if (!this.timeline) {
      const beside = () => [...rows.values()].filter((row) => row.callId === this.row?.callId).sort((a, b) => a.createdAt - b.createdAt);
      this.timeline = new Timeline({ ids: () => { const found = beside().map(({ runId }) => runId); return found.length ? found : [this.id]; }, title: "When this run and those beside it did what" });
      this.chart = make("div");
      this.views.time.replaceChildren(make("h3", {}, "This run and those beside it"), this.timeline.element, make("h3", {}, "Tokens and cost of this run"), this.chart);
    }
    this.timeline.paintSoon();
    this.chartSoon();
  }

  async drawChart() {
    const points = await ask("spending", { runs: this.id }).catch(() => []);
    this.chart?.replaceChildren(usedByWhen(points, this.row?.createdAt, this.row ? endOf(this.row) : 0));
  }

  async loadChanges() {
    const view = this.views.changes;
    if (this.row && !this.row.hasChanges) return view.replaceChildren(make("p", { class: "facts" }, "It had no worktree of its own: there are no changes to show."));
    try {
      const { text, bad } = await changesOf(this.id);
      const at = bad ? -1 : text.indexOf(START_OF_PATCH);
      const above = make("div", { class: bad ? "plain bad" : "plain" }, (at < 0 ? text : text.slice(0, at)).trim());
      view.replaceChildren(above, ...(at < 0 ? [] : [patch(text.slice(at))]));
    } catch (error) {
      view.replaceChildren(make("p", { class: "bad" }, `Not shown: ${error.message}`));
    }
  }

  // To one place of its transcript, once that is there.
  go(place) {
    this.place = place;
    if (!place) return;
    this.show("transcript");
    if (this.transcript.places.size || this.transcript.asked !== undefined) this.transcript.jump(place);
  }

  update({ rows: changed = [] }) {
    this.timeline?.update(changed.filter((row) => row.callId === this.row?.callId));
  }

  tick() {
    if (this.row?.active) this.head();
    this.timeline?.tick();
  }

  close() {
    this.events.close();
    setOpened(null);
  }
}
