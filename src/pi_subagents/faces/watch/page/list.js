// The list on the left: a tree of days, calls and runs, of which only what is seen is in the page.

import { by, make, paced, write } from "./dom.js";
import { age, elapsed, length } from "./format.js";
import { entriesOf } from "./groups.js";
import { rows } from "./store.js";

const HEIGHTS = { day: 36, call: 34, run: 52 };
const BEYOND = 300; // pixels above and below what is seen
const folded = new Set();
const made = new Map(); // what is in the page, by key
let entries = [];
let tops = [0];
let chosen = null;
let onOpen = () => {};
let onChoose = () => {};

export const chosenEntry = () => entries.find((entry) => entry.key === chosen) || null;

export function startList(callbacks) {
  ({ onOpen, onChoose } = callbacks);
  by("scroller").addEventListener("scroll", paintSoon, { passive: true });
  new ResizeObserver(paintSoon).observe(by("scroller"));
  by("tree").addEventListener("click", ({ target }) => {
    const key = target.closest("[role=treeitem]")?.dataset.key;
    if (!key) return;
    choose(key);
    if (target.closest(".fold")) fold(key);
    else onOpen(chosenEntry());
  });
}

const FEW = 500;
const FEW_MS = 100;
const MANY_MS = 400; // thousands of runs are not put in order ten times a second
const arrangeFew = paced(() => arrange(), FEW_MS);
const arrangeMany = paced(() => arrange(), MANY_MS);
export const arrangeSoon = () => (rows.size > FEW ? arrangeMany : arrangeFew)();

function arrange() {
  entries = entriesOf(rows.values(), folded);
  tops = [0];
  for (const entry of entries) tops.push(tops.at(-1) + HEIGHTS[entry.kind]);
  by("tree").style.height = `${tops.at(-1)}px`;
  if (!entries.some((entry) => entry.key === chosen)) chosen = entries.find((entry) => entry.kind === "run")?.key || null;
  paint();
}

export const paintSoon = paced(() => paint());

export function choose(key, show = false) {
  chosen = key;
  if (show) reveal();
  paint();
}

export function move(steps) {
  if (!entries.length) return;
  const now = entries.findIndex((entry) => entry.key === chosen);
  const place = Math.min(Math.max(now + steps, 0), entries.length - 1);
  choose(entries[place].key, true);
  onChoose(entries[place]);
}

// Folds a day or a call; of a run, what it is in.
export function fold(key = chosen, open) {
  const place = entries.findIndex((entry) => entry.key === key);
  let entry = entries[place];
  if (!entry) return;
  if (open === false && (entry.kind === "run" || !entry.open)) {
    entry = entries.slice(0, place).reverse().find((each) => each.level < entry.level) || entry;
    return choose(entry.key, true);
  }
  if (entry.kind === "run") return;
  if (open ?? !entry.open) folded.delete(key);
  else folded.add(key);
  arrangeSoon();
}

function reveal() {
  const place = entries.findIndex((entry) => entry.key === chosen);
  const box = by("scroller");
  if (place < 0) return;
  if (tops[place] < box.scrollTop) box.scrollTop = tops[place];
  else if (tops[place + 1] > box.scrollTop + box.clientHeight) box.scrollTop = tops[place + 1] - box.clientHeight;
}

function firstBelow(pixels) {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tops[middle + 1] <= pixels) low = middle + 1;
    else high = middle;
  }
  return low;
}

function paint() {
  const box = by("scroller");
  const begin = firstBelow(box.scrollTop - BEYOND);
  const end = Math.min(firstBelow(box.scrollTop + box.clientHeight + BEYOND) + 1, entries.length);
  const seen = new Set();
  for (let place = begin; place < end; place++) {
    const entry = entries[place];
    seen.add(entry.key);
    let known = made.get(entry.key);
    if (!known) {
      known = PARTS[entry.kind](entry);
      made.set(entry.key, known);
      by("tree").append(known.item);
    }
    known.item.style.transform = `translateY(${tops[place]}px)`;
    describe(known.item, entry);
    known.fill(entry);
  }
  for (const [key, { item }] of made) {
    if (seen.has(key)) continue;
    item.remove();
    made.delete(key);
  }
  const active = made.get(chosen);
  if (active) by("tree").setAttribute("aria-activedescendant", active.item.id);
  else by("tree").removeAttribute("aria-activedescendant");
}

function describe(item, entry) {
  const is = { "aria-level": entry.level, "aria-posinset": entry.place, "aria-setsize": entry.of, "aria-selected": entry.key === chosen };
  if (entry.kind !== "run") is["aria-expanded"] = entry.open;
  for (const [name, value] of Object.entries(is)) if (item.getAttribute(name) !== String(value)) item.setAttribute(name, value);
}

let number = 0;
function itemOf(entry, ...children) {
  number += 1;
  return make("div", { class: `entry ${entry.kind}`, role: "treeitem", id: `entry-${number}`, "data-key": entry.key }, ...children);
}

const PARTS = {
  day(entry) {
    const title = make("span", { class: "name" });
    const facts = make("span", { class: "facts" });
    const item = itemOf(entry, make("span", { class: "fold", "aria-hidden": "true" }), title, facts);
    return { item, fill: (now) => { write(title, now.title); write(facts, now.facts); } };
  },
  call(entry) {
    const [time, title, facts] = ["time", "name", "facts"].map((name) => make("span", { class: name }));
    const signs = make("span", { class: "signs" });
    const item = itemOf(entry, make("span", { class: "fold", "aria-hidden": "true" }), time, signs, title, facts);
    const fill = (now) => {
      write(time, now.time);
      write(title, now.title);
      write(facts, now.facts);
      const text = now.signs.map(({ sign, count }) => sign + count).join(" ");
      if (signs.textContent !== text) signs.replaceChildren(...now.signs.flatMap(({ sign, role, count }, n) => [n ? " " : "", make("span", { class: role }, sign + count)]));
    };
    return { item, fill };
  },
  run(entry) {
    const parts = Object.fromEntries(["sign", "name", "time", "doing", "model", "spent"].map((name) => [name, make("span", { class: name })]));
    const word = make("span", { class: "hidden" });
    parts.sign.setAttribute("aria-hidden", "true");
    const item = itemOf(entry, parts.sign, word, parts.name, parts.time, parts.doing, parts.model, parts.spent);
    const fill = ({ row, level }) => {
      write(parts.sign, row.sign);
      write(word, `${row.word}: `);
      parts.sign.className = `sign ${row.role}`;
      item.classList.toggle("inside", level === 3);
      item.classList.toggle("active", row.active);
      write(parts.name, row.title);
      write(parts.doing, row.lastLine || row.word);
      write(parts.model, row.model);
      write(parts.spent, [row.tokens, row.cost].filter(Boolean).join(" · "));
      const long = elapsed(row);
      write(parts.time, row.active ? (long ? length(long) : age(Date.now() - row.createdAt)) : `${long ? length(long) : "-"} · ${age(Date.now() - row.createdAt)} ago`);
    };
    return { item, fill };
  },
};
