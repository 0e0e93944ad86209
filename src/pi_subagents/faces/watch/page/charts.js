// Tokens and cost over time: what was used in each hour or day, and what a run had used by when.

import { draw, make } from "./dom.js";
import { amount, clock, dayName, dayOf, endOf, length, money } from "./format.js";

const HOUR = 3600 * 1000;
const MOST_HOURS = 48;
const MOST_DAYS = 31;
const LABELS = 6;

// Two charts of columns; the runs of a day by the hour, else by what there is.
export function usedOverTime(rows, day = "") {
  const buckets = day ? hoursOf(day) : bucketsOf(rows);
  const found = buckets.map((bucket) => ({ ...bucket, used: 0, paid: 0 }));
  const places = new Map(found.map((bucket) => [bucket.key, bucket]));
  const keyOf = found[0]?.keyOf || (() => "");
  for (const row of rows) {
    const bucket = places.get(keyOf(endOf(row)));
    if (bucket) Object.assign(bucket, { used: bucket.used + row.used, paid: bucket.paid + row.paid });
  }
  return make("div", { class: "charts" }, columns("Tokens", found, "used", amount), columns("Cost", found, "paid", money));
}

const hourKey = (ms) => `${dayOf(ms)} ${new Date(ms).getHours()}`;

function hour(ms) {
  return { key: hourKey(ms), keyOf: hourKey, label: clock(ms, false), title: `${dayName(dayOf(ms))}, ${clock(ms, false)}` };
}

function hoursOf(day) {
  const [year, month, date] = day.split("-").map(Number);
  return Array.from({ length: 24 }, (_, n) => hour(new Date(year, month - 1, date, n).getTime()));
}

function bucketsOf(rows) {
  const now = Date.now();
  const first = Math.min(now, ...rows.map((row) => endOf(row)).filter(Boolean));
  const hours = Math.ceil((now - first) / HOUR) + 1;
  if (hours <= MOST_HOURS) return Array.from({ length: Math.max(hours, 12) }, (_, n, all = Math.max(hours, 12)) => hour(now - (all - 1 - n) * HOUR));
  const days = Math.min(Math.max(Math.ceil(hours / 24) + 1, 7), MOST_DAYS);
  return Array.from({ length: days }, (_, n) => {
    const at = new Date(now);
    at.setDate(at.getDate() - (days - 1 - n));
    const key = dayOf(at.getTime());
    return { key, keyOf: dayOf, label: key.slice(5), title: dayName(key) };
  });
}

function columns(title, buckets, field, written) {
  const most = Math.max(...buckets.map((bucket) => bucket[field]), 0);
  const sum = buckets.reduce((total, bucket) => total + bucket[field], 0);
  const peak = buckets.find((bucket) => bucket[field] === most);
  const said = most ? `${written(sum)} in all, most of it ${peak.title} (${written(most)})` : "nothing yet";
  const every = Math.ceil(buckets.length / LABELS);
  const drawn = buckets.map((bucket, n) => {
    const fill = make("span", { class: "fill" });
    fill.style.height = `${most ? (100 * bucket[field]) / most : 0}%`;
    const label = make("span", { class: "label" }, n % every === 0 ? bucket.label : "");
    return make("span", { class: "column", title: `${bucket.title}: ${written(bucket[field])}` }, make("span", { class: "shaft" }, fill), label);
  });
  return figure(title, written(sum), most ? written(most) : "", said, make("div", { class: "columns" }, ...drawn));
}

function figure(title, total, most, said, drawing) {
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", `${title}: ${said}`);
  const caption = make("figcaption", {}, make("strong", {}, title), " ", make("span", { class: "total" }, total), most ? make("span", { class: "most" }, `highest ${most}`) : "");
  return make("figure", { class: "chart" }, caption, drawing);
}

// What had been used by when: points of time, tokens, cost.
export function usedByWhen(points, begin = 0, end = 0) {
  if (!points.length) return make("p", { class: "facts" }, "No tokens or cost were reported.");
  const from = begin || points[0][0];
  const whole = [[from, 0, 0], ...points, [Math.max(end, points.at(-1)[0], from + 1), ...points.at(-1).slice(1)]];
  return make("div", { class: "charts" }, steps("Tokens", whole, 1, amount), steps("Cost", whole, 2, money));
}

function steps(title, points, field, written) {
  const [begin, end] = [points[0][0], points.at(-1)[0]];
  const most = points.at(-1)[field];
  const x = (time) => (1000 * (time - begin)) / (end - begin);
  const y = (value) => 100 - (most ? (96 * value) / most : 0);
  let path = `M0,100 L0,${y(points[0][field])}`;
  for (const point of points.slice(1)) path += ` H${x(point[0]).toFixed(1)} V${y(point[field]).toFixed(1)}`;
  path += " V100 Z";
  const svg = draw("svg", { class: "steps", viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("path", { d: path }));
  const scale = make("div", { class: "scale", "aria-hidden": "true" }, make("span", {}, clock(begin)), make("span", {}, `+${length(end - begin)}`));
  return figure(title, written(most), "", `${written(most)} after ${length(end - begin)}`, make("div", {}, svg, scale));
}
