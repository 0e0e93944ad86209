// The transcript of one run: followed at its end, or a part of it from anywhere; and its search.

import { make, paced } from "./dom.js";
import { clock, counted } from "./format.js";
import { itemOf } from "./items.js";
import { ask } from "./store.js";

const MAX_ITEMS = 800; // in the page; what is older is had again by asking for it
const MANY = 100; // items at once, which are not painted more often than so:
const CALM_MS = 300;
const NEAR_END = 60; // pixels
const SEARCH_MS = 250;

export class Transcript {
  constructor(runId) {
    this.runId = runId;
    this.following = true; // new items are added as they come
    this.places = new Map(); // elements by the number of their entry
    this.calls = new Map(); // what a result belongs to
    this.waiting = [];
    this.task = make("div", { class: "task" });
    this.earlier = make("button", { class: "more", hidden: true, on: { click: () => this.page("before", this.firstSeq) } }, "Earlier");
    this.later = make("button", { class: "more", hidden: true, on: { click: () => this.page("after", this.lastSeq) } }, "Later");
    this.newest = make("button", { class: "more newest", hidden: true, on: { click: () => this.restart() } }, "To the newest");
    this.items = make("div", { class: "items" });
    this.hits = make("ol", { class: "hits", hidden: true });
    this.words = make("input", { type: "search", class: "find", placeholder: "Search this transcript (w)", autocomplete: "off", spellcheck: false, "aria-label": "Search this transcript" });
    this.words.addEventListener("input", () => {
      clearTimeout(this.typed);
      this.typed = setTimeout(() => this.search(), SEARCH_MS);
    });
    this.box = make("div", { class: "said", tabIndex: 0, role: "region", "aria-label": "Transcript" }, this.task, this.earlier, this.items, make("div", { class: "mores" }, this.later, this.newest));
    this.element = make("div", { class: "transcript" }, make("div", { class: "search" }, this.words), this.hits, this.box);
    // Items have their heights only once they are seen: what is looked at stays where it is, the end or
    // one item, until the reader goes elsewhere.
    this.sticks = true;
    this.held = null;
    this.box.addEventListener("scroll", () => { if (!this.held) this.sticks = this.atEnd(); }, { passive: true });
    for (const event of ["wheel", "pointerdown", "keydown", "touchstart"]) this.box.addEventListener(event, () => { this.held = null; }, { passive: true });
    new ResizeObserver(() => this.stick()).observe(this.items);
    this.flushSoon = paced(() => this.flush());
    this.flushCalmly = paced(() => this.flush(), CALM_MS);
  }

  restart() {
    this.onRestart?.();
  }

  // News of the run, as the server sends them.
  update({ items, skipped, task, first }) {
    if (first) {
      this.following = this.sticks = true;
      this.held = null;
      this.clear();
      this.showTask(task);
      this.earlier.hidden = !skipped;
    }
    if (!this.following) return;
    if (skipped && !first) this.waiting = [];
    this.skipped = this.skipped || (skipped && !first);
    this.waiting.push(...items);
    if (this.waiting.length > MAX_ITEMS) {
      this.waiting = this.waiting.slice(-MAX_ITEMS);
      this.skipped = true;
    }
    (this.waiting.length > MANY && !first ? this.flushCalmly : this.flushSoon)();
  }

  flush() {
    if (this.skipped) {
      this.clear();
      this.earlier.hidden = false;
      this.skipped = false;
    }
    this.add(this.waiting.splice(0));
    while (this.items.children.length > MAX_ITEMS) {
      this.forget(this.items.firstChild);
      this.earlier.hidden = false;
    }
    this.stick();
  }

  stick() {
    if (this.held) this.held.scrollIntoView({ block: "center" });
    else if (this.sticks) this.box.scrollTop = this.box.scrollHeight;
  }

  atEnd() {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < NEAR_END;
  }

  clear() {
    this.items.replaceChildren();
    this.places.clear();
    this.calls.clear();
    this.later.hidden = this.newest.hidden = true;
  }

  forget(element) {
    this.places.delete(Number(element.dataset.seq));
    element.remove();
  }

  showTask(task) {
    this.asked = task.trim();
    if (!this.asked) return this.task.replaceChildren();
    const lines = this.asked.split("\n").length;
    const text = make("div", { class: "plain" }, this.asked);
    const long = lines > 12 || this.asked.length > 1200;
    this.task.replaceChildren(long ? make("details", {}, make("summary", {}, `Task (${counted(lines, "line")})`), text) : make("div", {}, make("div", { class: "who" }, "Task"), text));
  }

  add(items, before = null) {
    const made = [];
    for (const item of items) {
      if (item.kind === "result" && this.finish(item)) continue;
      if (item.kind === "asked" && item.text.trim() === this.asked) continue;
      const element = itemOf(item, this.runId);
      if (!element) continue;
      element.dataset.seq = item.seq;
      this.places.set(item.seq, element);
      if (item.kind === "call") this.calls.set(item.id, element);
      made.push(element);
    }
    if (before) before.before(...made);
    else this.items.append(...made);
    return made;
  }

  // Ties a result to its call, where that is in the page.
  finish(item) {
    const call = this.calls.get(item.id);
    if (!call) return false;
    this.calls.delete(item.id);
    call.finished(item);
    this.places.set(item.seq, call);
    return true;
  }

  get firstSeq() {
    return Number(this.items.firstChild?.dataset.seq || 0);
  }

  get lastSeq() {
    return Math.max(0, ...this.places.keys());
  }

  async page(where, number) {
    const found = await ask(`items/${this.runId}`, { [where]: number }).catch(() => null);
    if (!found) return null;
    this.following = false;
    this.newest.hidden = false;
    if (where === "before") {
      const [anchor] = this.items.children;
      const top = anchor?.getBoundingClientRect().top;
      this.add(found.items, anchor);
      while (this.items.children.length > MAX_ITEMS) { this.forget(this.items.lastChild); this.later.hidden = false; }
      if (anchor) this.box.scrollTop += anchor.getBoundingClientRect().top - top;
      this.earlier.hidden = !found.earlier;
    } else if (where === "after") {
      this.add(found.items);
      while (this.items.children.length > MAX_ITEMS) { this.forget(this.items.firstChild); this.earlier.hidden = false; }
      this.later.hidden = !found.later;
    } else {
      this.clear();
      this.add(found.items);
      this.newest.hidden = false;
      this.earlier.hidden = !found.earlier;
      this.later.hidden = !found.later;
    }
    return found;
  }

  // Shows one entry: by its number, or what was first at a time.
  async jump({ item, time }) {
    this.sticks = false; // whatever comes meanwhile does not scroll away from it
    this.held = this.box;
    const number = Number(item);
    if (!this.places.get(number)) await this.page(item ? "near" : "time", Number(item || time));
    const at = [...this.items.children].find((element) => (item ? Number(element.dataset.seq) >= number : Number(element.dataset.t) >= Number(time)));
    const element = this.places.get(number) || at || this.items.lastChild;
    this.held = element || null;
    if (!element) return;
    for (const each of this.items.querySelectorAll(".found")) each.classList.remove("found");
    element.classList.add("found");
    if (element.open === false) element.open = true;
    this.stick();
  }

  async search() {
    const words = this.words.value.trim();
    if (!words) {
      this.hits.hidden = true;
      return;
    }
    const hits = await ask(`hits/${this.runId}`, { words }).catch(() => []);
    if (words !== this.words.value.trim()) return;
    const found = hits.map(({ seq, t, text }) => make("li", {}, make("a", { href: `#${new URLSearchParams({ run: this.runId, item: seq })}` }, make("span", { class: "took" }, clock(t)), " ", ...marked(text, words))));
    this.hits.replaceChildren(...(found.length ? found : [make("li", { class: "facts" }, "Nothing was found.")]));
    this.hits.hidden = false;
  }
}

// The words that were looked for, marked; all of it is text.
function marked(text, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const low = text.toLowerCase();
  const parts = [];
  let at = 0;
  while (at < text.length) {
    const next = wanted.map((word) => [low.indexOf(word, at), word.length]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0])[0];
    if (!next) break;
    parts.push(text.slice(at, next[0]), make("mark", {}, text.slice(next[0], next[0] + next[1])));
    at = next[0] + next[1];
  }
  parts.push(text.slice(at));
  return parts;
}
