// Times, amounts and days, as the other screens write them.

const DAY = 86400;
const SHORT_ID = 8;

export const short = (id) => id.slice(0, SHORT_ID);

export function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// One unit: 3s, 12m
export function age(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  for (const [size, unit] of [[DAY, "d"], [3600, "h"], [60, "m"]]) if (s >= size) return Math.floor(s / size) + unit;
  return `${s}s`;
}

// Two units: 1m12s, 2h5m
export function length(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  for (const [size, unit, part, name] of [[DAY, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]]) {
    const rest = Math.floor((s % size) / part);
    if (s >= size) return Math.floor(s / size) + unit + (rest ? rest + name : "");
  }
  return `${s}s`;
}

// Less than a second counts, too: 0.4s, 12s
export const partLength = (ms) => (ms < 10000 ? `${(Math.max(ms, 0) / 1000).toFixed(1)}s` : length(ms));

export function amount(number) {
  if (number < 1000) return String(Math.round(number));
  let size = number;
  for (const unit of ["k", "M", "G"]) {
    size /= 1000;
    if (size < 999.95) return size.toFixed(1) + unit;
  }
  return ">999G";
}

export const money = (cost) => `$${cost < 1 ? cost.toFixed(4) : cost < 10000 ? cost.toFixed(2) : amount(cost)}`;

const two = (number) => String(number).padStart(2, "0");

export function clock(ms, seconds = true) {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}${seconds ? `:${two(at.getSeconds())}` : ""}`;
}

export function dayOf(ms) {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function dayName(day, now = Date.now()) {
  if (day === dayOf(now)) return "Today";
  if (day === dayOf(now - DAY * 1000)) return "Yesterday";
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year, month - 1, date).toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short", year: "numeric" });
}

export const counted = (number, one, more = `${one}s`) => `${number} ${number === 1 ? one : more}`;

export const endOf = (row, now = Date.now()) => (row.active ? now : row.finishedAt || row.createdAt);

export const elapsed = (row, now = Date.now()) => (row.startedAt ? Math.max(endOf(row, now) - row.startedAt, 0) : 0);

export function used(rows) {
  const tokens = rows.reduce((sum, row) => sum + row.used, 0);
  const paid = rows.reduce((sum, row) => sum + row.paid, 0);
  return [tokens ? `${amount(tokens)} tokens` : "", paid ? money(paid) : ""].filter(Boolean).join(" · ");
}
