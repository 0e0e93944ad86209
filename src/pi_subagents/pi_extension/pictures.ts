/**
 * Pictures (docs/bridge.md): keep those of running calls, paint any of them in pi's colours, for any width.
 *
 * In: what the core says now or said long ago, and arguments that are still being streamed; their shape
 * is never relied on.  Out: components whose lines fit.  Never throws.
 */

import type { Theme, ThemeColor } from "@earendil-works/pi-coding-agent";
import { type Component, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { attempt, type Fields, fields, filled, list, printable, word } from "./values.ts";

type Said = { path: string[]; role: string; text: string; counted: string[]; distinct: boolean };

interface LiveCall {
  readonly parts: Map<unknown, Fields & { readonly rows: unknown[] }>;
  readonly update: (progress: Fields) => void;
  redraw?: () => void;
}

const MAX_ROWS = 500;
const KEPT = "kept"; // a role: where a row is cut, this end of it stays
const LEAST_BEGIN = 12; // columns: an end that leaves less is too long to be kept
const LINES = new WeakMap<object, { readonly made: string; readonly lines: readonly string[] }>();

/** The calls that run at this time. */
export const calls = new Map<unknown, LiveCall>();

/** The picture of a running call, if there is one; it is redrawn from now on whenever it changes. */
export function livePicture(callId: string, redraw: () => void): readonly Fields[] | undefined {
  const call = calls.get(callId);
  if (call) call.redraw = redraw;
  return call?.parts.size ? [...call.parts.values()] : undefined;
}

/** Change it: drop the last rows of a part, add others. */
export function change({ callId, parts }: Fields): void {
  const call = calls.get(callId);
  for (const part of list(parts)) {
    const { at, drop, add, ...layout } = fields(part);
    const before = call?.parts.get(at);
    const rows = before?.rows ?? [];
    rows.splice(Math.max(0, rows.length - (Number(drop) || 0)));
    rows.push(...list(add));
    rows.splice(0, rows.length - MAX_ROWS);
    call?.parts.set(at, { ...before, ...layout, rows });
  }
  call?.redraw?.();
}

/** The picture that the core has made, else (older versions made none) the text, as the model gets it. */
export function storedPicture(details: unknown, content: unknown, layout: Fields, role: string): readonly unknown[] {
  const { picture, maxLines } = fields(details);
  if (list(picture).length > 0) return list(picture);
  const texts = typeof content === "string" ? [content] : list(content).map((each) => fields(each).text);
  const text = texts.filter((each) => typeof each === "string").join("\n");
  const lines = text.trimEnd().split("\n");
  return [{ ...layout, first: maxLines ?? layout.first, rows: lines.map((line) => [[line.trimEnd(), role]]) }];
}

/** The line above a result: the tool, and what it was asked for as far as that is known. */
export function callPicture(name: string, said: readonly Said[], args: unknown): readonly Fields[] {
  const spans = said.map((each) => [saying(each, args), each.role]).filter(([text]) => text);
  return [{ rows: [[[name, "bold toolTitle"], ...spans.flatMap((span) => [" ", span])]] }];
}

/** The words at a path in the arguments, or how many there are; a list on the way means its items. */
function saying({ path, text, counted: words, distinct }: Said, args: unknown): string {
  const step = (values: readonly unknown[], key: string) => values.flatMap((value) => fields(value)[key] ?? []);
  const found = path.reduce(step, [args]);
  if (words.length > 0) return found.length > 0 ? counted(found.length, words) : "";
  const texts = found.map(word).filter(Boolean);
  return texts.length > 0 ? filled(text, (distinct ? [...new Set(texts)] : texts).join(", ")) : "";
}

function counted(number: number, [one, many]: readonly unknown[]): string {
  return filled(number === 1 ? one : many, String(number));
}

export function painted(parts: readonly unknown[], expanded: boolean, theme: Theme): Component {
  let made: { readonly width: number; readonly lines: string[] } | undefined;
  const paint = (width: number) => parts.flatMap((part) => paintPart(fields(part), expanded, width, theme));
  return {
    invalidate: () => {
      made = undefined;
    },
    render: (width) => {
      // pi would end with an exception from a component.
      if (made?.width !== width) made = { width, lines: attempt(() => paint(width), []) };
      return made.lines;
    },
  };
}

function paintPart(part: Fields, expanded: boolean, width: number, theme: Theme): readonly string[] {
  const rows = expanded ? list(part.rows) : shortened(part, list(part.rows));
  const fits = (row: unknown) => visibleWidth(paintRow(row, theme)) <= width;
  if (part.fit === "choose") return paintPart({ rows: [rows.find(fits) ?? rows.at(-1)] }, expanded, width, theme);
  const begin = " ".repeat(Number(part.indent) || 0);
  const wraps = part.fit === "wrap" || (expanded && part.fit === "unfold");
  const wrap = (line: string) => wrapTextWithAnsi(line, Math.max(width - begin.length, 1));
  const made = `${width} ${wraps} ${theme.name}`;
  return rows.flatMap((row) => {
    const known = LINES.get(fields(row));
    if (known?.made === made) return known.lines;
    const lines = wraps
      ? wrap(paintRow(row, theme)).map((line) => truncateToWidth(begin + line, width, "…"))
      : [cutRow(begin, list(row), width, theme)];
    LINES.set(fields(row), { made, lines }); // a long history is painted anew at every change
    return lines;
  });
}

/** A row on one line: what is too wide is cut before the end that is to be kept, if that has the room. */
function cutRow(indent: string, row: readonly unknown[], width: number, theme: Theme): string {
  const at = row.findIndex((span) => rolesIn(list(span)[1]).includes(KEPT));
  const whole = indent + paintRow(row, theme);
  const end = at < 0 ? "" : paintRow(row.slice(at), theme);
  const room = width - visibleWidth(end);
  if (!end || room < LEAST_BEGIN || visibleWidth(whole) <= width) return truncateToWidth(whole, width, "…");
  return truncateToWidth(indent + paintRow(row.slice(0, at), theme), room, "…") + end;
}

/** The latest rows, or the first ones and how many more there are. */
function shortened({ latest, first, more }: Fields, rows: readonly unknown[]): readonly unknown[] {
  if (latest) return rows.slice(-latest);
  const left = rows.length - (Number(first) || rows.length);
  return left > 0 ? [...rows.slice(0, -left), [[counted(left, list(more)), "dim"]]] : rows;
}

function rolesIn(roles: unknown): readonly string[] {
  return word(roles).split(" ").filter(Boolean);
}

/** A row is spans, each a text or `[text, roles]`; a role that the theme does not have is left out. */
function paintRow(row: unknown, theme: Theme): string {
  const inRole = (text: string, role: string) =>
    role === "bold" ? theme.bold(text) : attempt(() => theme.fg(role as ThemeColor, text), text);
  const spans = list(row).map((span) => (typeof span === "string" ? [span] : list(span)));
  return spans.map(([text, roles]) => rolesIn(roles).reduce(inRole, printable(text))).join("");
}
