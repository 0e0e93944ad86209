// A scale of time for bars: hours in which nothing happened take next to no room. Values only.

import { clock, length } from "./format.js";

const SECOND = 1000;
const GAP = 0.02; // of all the time at work: what a pause takes at most
const LEAST_APART = 11; // percent, between two marks
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map((s) => s * SECOND);

// In: begins and ends. Out: percents of times and times of percents; each block is time without a long pause.
export function scaleOf(spans) {
  const blocks = [];
  const work = sum(joined(spans, 0));
  for (const [begin, end] of joined(spans, Math.max(work * GAP, SECOND))) blocks.push({ begin, end: Math.max(end, begin + SECOND) });
  const gap = work * GAP;
  const whole = sum(blocks.map(({ begin, end }) => [begin, end])) + gap * (blocks.length - 1);
  let used = 0;
  for (const block of blocks) {
    block.left = (100 * used) / whole;
    used += block.end - block.begin;
    block.right = (100 * used) / whole;
    used += gap;
  }
  const inside = (block, share) => block.begin + (block.end - block.begin) * Math.min(Math.max(share, 0), 1);
  return {
    blocks,
    at(time) {
      const block = blocks.findLast(({ begin }) => begin <= time) || blocks[0];
      const share = Math.min(Math.max((time - block.begin) / (block.end - block.begin), 0), 1);
      return block.left + share * (block.right - block.left);
    },
    time(percent) {
      const block = blocks.findLast(({ left }) => left <= percent) || blocks[0];
      return inside(block, (percent - block.left) / (block.right - block.left));
    },
  };
}

const sum = (spans) => spans.reduce((all, [begin, end]) => all + end - begin, 0);

// Spans that overlap, or are no further apart than that, as one.
function joined(spans, apart) {
  const found = [];
  for (const [begin, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && begin <= last[1] + apart) last[1] = Math.max(last[1], end);
    else found.push([begin, end]);
  }
  return found;
}

// Where which times are written: at the begin of each block, and in steps within it, where there is room.
export function marksOf(scale, most, byClock) {
  const shown = sum(scale.blocks.map(({ begin, end }) => [begin, end]));
  const step = STEPS.find((each) => shown / each <= most) || STEPS.at(-1);
  const first = scale.blocks[0].begin;
  const marks = [];
  const add = (time, at) => {
    if (marks.every((mark) => Math.abs(mark.at - at) >= LEAST_APART) && at < 96) marks.push({ at, label: byClock || time === first ? clock(time, step < 60 * SECOND) : `+${length(time - first)}` });
  };
  for (const { begin, left } of scale.blocks) add(begin, left);
  for (const { begin, end } of scale.blocks) {
    const zone = new Date(begin).getTimezoneOffset() * 60 * SECOND;
    const from = byClock ? Math.ceil((begin - zone) / step) * step + zone : begin + step;
    for (let time = from; time < end && marks.length < 4 * most; time += step) add(time, scale.at(time));
  }
  return marks.sort((a, b) => a.at - b.at);
}
