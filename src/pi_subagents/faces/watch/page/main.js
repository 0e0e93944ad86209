// The page: which pane an address opens, keys, and the clocks.

import * as actions from "./actions.js";
import { by, make, write } from "./dom.js";
import { short } from "./format.js";
import { arrangeSoon, choose, chosenEntry, fold, move, paintSoon, startList } from "./list.js";
import { callPane, dayPane, overviewPane } from "./overview.js";
import { RunPane } from "./run.js";
import { about, listen, notice, onNews, rows, WHICH, wanted } from "./store.js";

const TYPING_MS = 150;
const PAGE = 12;
const NAME = "subagents watch";
let pane = null;
let shown = ""; // what the pane shows, as the address has it
let typed = 0;
let counts = {};

// Addresses: #run=ID, with &item=N or &time=MS; #call=ID; #day=2026-11-19; nothing for all of it.

const asked = () => new URLSearchParams(location.hash.slice(1));

const PANES = {
  run: (id) => new RunPane(id),
  call: callPane,
  day: dayPane,
  overview: overviewPane,
};

function route() {
  const query = asked();
  const kind = Object.keys(PANES).find((name) => query.has(name)) || "overview";
  const what = `${kind}=${query.get(kind) || ""}`;
  if (what !== shown) {
    pane?.close();
    shown = what;
    pane = PANES[kind](query.get(kind));
    by("pane").replaceChildren(pane.element);
    pane.update({ rows: [], counts });
  }
  document.body.classList.toggle("open", query.has(kind));
  by("overview").setAttribute("aria-pressed", String(kind === "overview" && query.has(kind)));
  if (kind === "run") {
    choose(`run:${query.get("run")}`);
    const place = query.has("item") ? { item: query.get("item") } : query.has("time") ? { time: query.get("time") } : null;
    pane.go(place);
  }
}

const addressOf = (entry) => (entry.kind === "run" ? { run: entry.row.runId } : entry.kind === "call" ? { call: entry.callId } : { day: entry.day });

function open(entry) {
  if (entry) location.hash = new URLSearchParams(addressOf(entry));
}

function back() {
  if (asked().size) location.hash = "";
  by("tree").focus({ preventScroll: true });
}

const isOpen = () => asked().has("run");
const currentId = () => asked().get("run") || (chosenEntry()?.kind === "run" ? chosenEntry().row.runId : null);

function inRun(view) {
  const id = currentId();
  if (!id) return;
  if (view === "changes" && !actions.hasChanges(id)) return;
  if (!isOpen()) location.hash = new URLSearchParams({ run: id });
  route();
  pane.show(pane.view === view ? "transcript" : view);
}

function want(which) {
  wanted.which = which;
  for (const each of by("filters").children) each.setAttribute("aria-pressed", String(each.dataset.which === which));
  listen();
}

function clear() {
  if (asked().size) return back();
  by("words").value = wanted.words = "";
  want("all");
}

const DO = {
  back, clear,
  open: () => (asked().size ? back() : open(chosenEntry())),
  stop: () => actions.stop(currentId()),
  resume: () => actions.resume(currentId()),
  take: () => currentId() && actions.take(currentId()),
  discard: () => currentId() && actions.discard(currentId()),
  message() {
    const id = currentId();
    if (!id || !actions.isGoingOn(id)) return;
    if (!isOpen()) location.hash = new URLSearchParams({ run: id });
    route();
    pane.write();
  },
  changes: () => inRun("changes"),
  time: () => inRun("time"),
  find() {
    if (!isOpen()) return;
    pane.show("transcript");
    pane.transcript.words.select();
    pane.transcript.words.focus();
  },
  copy: () => currentId() && actions.copy(currentId(), short(currentId())),
  link: () => actions.copy(location.href),
  directory() {
    const path = actions.dataOf(currentId())?.path;
    if (path) actions.copy(path);
    else notice("Open the run first.");
  },
  filter: () => by("words").select(),
  which: () => want(WHICH[(WHICH.indexOf(wanted.which) + 1) % WHICH.length]),
  overview: () => { location.hash = asked().has("overview") ? "" : "overview="; },
  fold: () => fold(undefined, false),
  unfold: () => fold(undefined, true),
  help: () => by("keys").showModal(),
};
const KEYS = {
  Enter: "open", o: "open", s: "stop", m: "message", a: "message", r: "resume", c: "copy", d: "directory", l: "link", v: "changes", b: "time",
  w: "find", t: "take", x: "discard", u: "overview", "/": "filter", f: "which", "?": "help", Escape: "clear", ArrowLeft: "fold", ArrowRight: "unfold",
};
const MOVES = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: PAGE, PageUp: -PAGE, Home: -1e9, End: 1e9 };

addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (document.querySelector("dialog[open]")) return;
  if (event.ctrlKey && key === "o") { event.preventDefault(); return DO.open(); }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches("input")) return typing(event);
  if (key === "Enter" || key === " ") if (target.matches("button, a, summary")) return;
  if (target.closest("[role=tablist]") && (key === "ArrowLeft" || key === "ArrowRight")) return nextTab(key === "ArrowRight" ? 1 : -1);
  // The reader scrolls what he is in.
  if (target.closest(".said, .box, .patch, pre, .changes, .wide") && key.length > 1 && (key in MOVES || key.startsWith("Arrow"))) return;
  if (key in MOVES) { event.preventDefault(); move(MOVES[key]); }
  else if (key in KEYS) { event.preventDefault(); DO[KEYS[key]](); }
});

function typing({ key, target }) {
  if (key !== "Escape" && key !== "Enter") return;
  if (target === by("words")) {
    target.blur();
    by("tree").focus({ preventScroll: true });
    if (key === "Escape") clear();
  } else if (key === "Escape") {
    target.value = "";
    target.dispatchEvent(new Event("input"));
    target.blur();
  }
}

function nextTab(step) {
  const tabs = [...document.querySelectorAll("[role=tab]:not([hidden])")];
  const now = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
  const next = tabs[(now + step + tabs.length) % tabs.length];
  next.click();
  next.focus();
}

onNews((news) => {
  if (news.counts) counts = news.counts;
  for (const id of ["totals", "none"]) if (id in news) write(by(id), news[id]);
  if (news.about || news.counts) title();
  if (news.rows || news.gone || news.first) arrangeSoon();
  pane?.update({ rows: news.rows || [], counts });
});

function title() {
  const project = about.project || "all projects";
  write(by("project"), project);
  write(by("machine"), about.machine ? ` on ${about.machine}` : "");
  const at = [project, about.machine].filter(Boolean).join(" on ");
  document.title = `${counts.active ? `(${counts.active}) ` : ""}${at} · ${NAME}`;
  for (const each of by("filters").children) {
    const number = counts[each.dataset.which];
    write(each.lastChild, number === undefined ? "" : String(number));
  }
}

by("filters").append(...WHICH.map((which) => make("button", { "data-which": which, "aria-pressed": String(which === "all"), on: { click: () => want(which) } }, which, make("span", { class: "count" }))));
by("help").addEventListener("click", DO.help);
by("overview").addEventListener("click", DO.overview);
by("words").addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(() => { wanted.words = by("words").value; listen(); }, TYPING_MS);
});
addEventListener("hashchange", route);
setInterval(() => {
  if (document.hidden) return;
  paintSoon();
  pane?.tick();
}, 1000);
startList({
  onOpen: open,
  // Whoever goes through the list with a run open, sees one after the other.
  onChoose: (entry) => { if (asked().size && !asked().has("overview")) location.replace(`#${new URLSearchParams(addressOf(entry))}`); },
});
route();
listen();
by("tree").focus({ preventScroll: true });
