/**
 * Paint calls and results of our tools in pi's colours.
 *
 * In: arguments and details of any shape, half-streamed or hostile.  Out: components whose lines
 * all fit the width.  Synchronous; never throws, never asks the core.
 */

import type { Theme, ThemeColor } from "@earendil-works/pi-coding-agent";
import { type Component, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { count, fields, line, list, textOf, word } from "./values.ts";
import type { Line, Shown, View } from "./windows.ts";

const CONTINUATION = "│ ";
const ICONS: Readonly<Record<string, readonly [string, ThemeColor]>> = {
  queued: ["⏳", "muted"],
  running: ["⏳", "warning"],
  completed: ["✓", "success"],
  error: ["✗", "error"],
};
const STATUSES: Readonly<Record<string, readonly [string, string]>> = {
  running: ["running", "running"],
  queued: ["queued", "queued"],
  completed: ["done", "done"],
  error: ["error", "errors"],
};
// Figures in the previews of these tools: `+3/-1`, `+3`, `(5 lines)`, `2 files`, `1 dir`, `3 matches`.
const FIGURED = /^(?:edit|write|read|ls|find) → /;
const FIGURES = /(\+\d+)(?:\/(-\d+))?$|(\(\d+ lines?\))$|(\d+)(?= (?:files?|dirs?|match(?:es)?)\b)/g;
const DEFAULT_LINES = 15;
const WRAPPED = new WeakMap<Line, { width: number; theme: string | undefined; rows: readonly string[] }>();

/** Lines that are made for a width once, when they are first asked for. */
class Painting implements Component {
  readonly #paint: (width: number) => string[];
  #width = -1;
  #lines: string[] = [];

  constructor(paint: (width: number) => string[]) {
    this.#paint = paint;
  }

  invalidate(): void {
    this.#width = -1;
  }

  render(width: number): string[] {
    if (width !== this.#width) {
      this.#width = width;
      this.#lines = painted(this.#paint, width);
    }
    return this.#lines;
  }
}

function painted(paint: (width: number) => string[], width: number): string[] {
  try {
    return paint(width);
  } catch {
    return []; // pi would end with an exception from a component
  }
}

/** The line above a result: the tool and what it was asked for. */
export function paintCall(name: string, args: unknown, theme: Theme): Component {
  const title = theme.fg("toolTitle", theme.bold(name));
  return new Painting((width) => [fitted([title, asked(name, fields(args), theme)].filter(Boolean).join(" "), width)]);
}

/** The windows of a call: the latest lines of each, expanded its history. */
export function paintWindows(shown: Shown, expanded: boolean, theme: Theme): Component {
  return new Painting((width) => {
    const { views, maxLines } = shown;
    const rows = [fitted(theme.bold(`Sub-agents: ${counted(views, Object.keys(STATUSES))}`), width)];
    for (const view of views) {
      rows.push("", fitted(header(view, width, theme), width));
      if (view.status !== "queued") rows.push(...body(view, expanded ? undefined : maxLines, width, theme));
      if (view.errorMessage) rows.push(...wrapped(theme.fg("error", `Error: ${view.errorMessage}`), width));
    }
    return [...rows, ...footer(views, theme).map((row) => fitted(row, width))];
  });
}

/** A text as the model gets it: its beginning, expanded or where `whole` is asked for all of it. */
export function paintText(
  content: unknown,
  details: unknown,
  whole: boolean,
  isError: boolean,
  theme: Theme,
): Component {
  return new Painting((width) => {
    const told = textOf(content).trimEnd().split("\n");
    const limit = whole ? told.length : count(fields(details).maxLines, DEFAULT_LINES);
    const colour = isError ? "error" : "toolOutput";
    const rows = shortened(told, limit, (each) => wrap(theme.fg(colour, line(each)), width), theme);
    return rows.map((row) => fitted(row, width));
  });
}

/** The message that a background run is over: how, what it was, what it said. */
export function paintEnd(details: unknown, expanded: boolean, theme: Theme): Component {
  return new Painting((width) => {
    const told = fields(details);
    const [icon, colour] = told.status === "completed" ? ["✓", "success" as const] : ["✗", "error" as const];
    const seconds = `${Math.floor(count(told.durationMs) / 1000)}s`;
    const about = ["", `${word(told.status)} in the background`, seconds, `run ${word(told.runId)}`].join(" • ");
    const said = list([told.errorMessage, told.output]).flatMap((text) => (word(text) ? String(text).split("\n") : []));
    const task = word(told.task) ? wrapped(theme.fg("muted", word(told.task)), width) : [];
    const limit = expanded ? said.length : DEFAULT_LINES;
    const rows = [
      `${theme.fg(colour, icon)} ${theme.bold(word(told.preset))}${theme.fg("muted", about)}`,
      ...task.slice(0, expanded ? undefined : 1),
      ...shortened(said, limit, (each) => wrapped(line(each), width), theme),
    ];
    return rows.map((row) => fitted(row, width));
  });
}

/** The first so many lines, and how many more there are. */
function shortened(told: readonly string[], limit: number, rows: (each: string) => string[], theme: Theme): string[] {
  const left = told.length - limit;
  const more = left > 0 ? [theme.fg("dim", `... (${left} more line${left === 1 ? "" : "s"})`)] : [];
  return [...told.slice(0, limit).flatMap(rows), ...more];
}

function asked(name: string, args: Readonly<Record<string, unknown>>, theme: Theme): string {
  const tasks = list(args.tasks).map(fields);
  const accent = (value: unknown) => (word(value) ? theme.fg("accent", word(value)) : "");
  if (name === "delegate_to_subagents") {
    const profiles = [...new Set(tasks.map((task) => word(task.profile)).filter(Boolean))];
    const many = tasks.length === 1 ? "1 sub-agent" : `${tasks.length} sub-agents`;
    const byDefault = word(args.profile) ? `(default profile: ${word(args.profile)})` : "";
    const named = profiles.length > 0 ? `profiles: [${profiles.join(", ")}]` : "";
    const profiled = [byDefault, named].filter(Boolean).join(" ");
    return theme.fg("accent", many) + (profiled ? theme.fg("muted", ` ${profiled}`) : "");
  }
  if (tasks.length > 0) return theme.fg("accent", tasks.map((task) => word(task.preset)).join(", "));
  const task = word(args.task) ? theme.fg("muted", word(args.task)) : "";
  return [accent(args.sessionId), accent(args.preset), accent(args.runId), task].filter(Boolean).join(" ");
}

/** How many windows have which status; a count of zero is left out. */
function counted(views: readonly View[], statuses: readonly string[]): string {
  const told = statuses.map((status) => {
    const found = views.filter((view) => view.status === status).length;
    const [one, many] = STATUSES[status] ?? [status, status];
    return found > 0 ? `${found} ${found === 1 ? one : many}` : "";
  });
  return told.filter(Boolean).join(", ");
}

/** The line above a window; where it does not fit, what matters least goes first. */
function header(view: View, width: number, theme: Theme): string {
  const [icon, colour] = ICONS[view.status] ?? ["?", "muted"];
  const segments = [
    { text: view.label, rank: 1 },
    { text: plural(view.toolCount, "tool"), rank: 2 },
    { text: plural(view.fileCount, "file"), rank: 3 },
    { text: view.todo, rank: 0 },
    { text: view.place > 0 ? `queued, place ${view.place}` : "", rank: 0 },
    { text: elapsed(view), rank: 0 },
    { text: spent(view), rank: 4 },
  ].filter((segment) => segment.text);
  const rest = (least: number) =>
    segments.map((segment) => (segment.rank < least ? ` • ${segment.text}` : "")).join("");
  const fits = [5, 4, 3, 2, 1].find((least) => visibleWidth(`${icon} ${view.name}${rest(least)}`) <= width) ?? 1;
  return `${theme.fg(colour, icon)} ${theme.bold(view.name)}${theme.fg("muted", rest(fits))}`;
}

function plural(number: number, noun: string): string {
  return number > 0 ? `${number} ${noun}${number === 1 ? "" : "s"}` : "";
}

function elapsed(view: View): string {
  if (view.status === "queued") return "";
  return `${Math.floor(view.elapsedMs / 1000)}s${view.timeoutS > 0 ? `/${view.timeoutS}s` : ""}`;
}

function spent(view: View): string {
  if (view.tokens <= 0) return "";
  const tokens = view.tokens >= 1000 ? `${(view.tokens / 1000).toFixed(1)}k` : `${view.tokens}`;
  return `${tokens} tokens${view.cost > 0 ? ` $${view.cost.toFixed(4)}` : ""}`;
}

/** The lines of a window: the latest so many, each in one row, or all of them, wrapped. */
function body(view: View, latest: number | undefined, width: number, theme: Theme): string[] {
  const { history } = view;
  if (history.length === 0) {
    const none = view.status === "running" ? "(starting...)" : "(no output)";
    return wrapped(theme.fg("muted", none), width);
  }
  if (latest !== undefined) return history.slice(-latest).map((each) => fitted(`  ${paintLine(each, theme)}`, width));
  return history.flatMap((each) => wrappedLine(each, width, theme));
}

/** The rows of a line, kept as long as it: a long history is painted anew at every change. */
function wrappedLine(each: Line, width: number, theme: Theme): readonly string[] {
  const known = WRAPPED.get(each);
  if (known?.width === width && known.theme === theme.name) return known.rows;
  const rows = wrapped(paintLine(each, theme), width);
  WRAPPED.set(each, { width, theme: theme.name, rows });
  return rows;
}

function paintLine({ text, isTool }: Line, theme: Theme): string {
  if (!isTool) return text;
  const mark = text.startsWith(CONTINUATION) ? "  " : "→ ";
  const green = (figure: string) => theme.fg("toolDiffAdded", figure);
  let end = 0;
  let row = theme.fg("muted", mark);
  for (const found of FIGURED.test(text) ? text.matchAll(FIGURES) : []) {
    const [all, added, removed] = found;
    const figure = removed ? `${green(added ?? "")}/${theme.fg("toolDiffRemoved", removed)}` : green(all);
    row += theme.fg("muted", text.slice(end, found.index)) + figure;
    end = found.index + all.length;
  }
  return row + theme.fg("muted", text.slice(end));
}

function footer(views: readonly View[], theme: Theme): string[] {
  const open = counted(views, ["running", "queued"]);
  if (open) return ["", theme.fg("muted", `${open}...`)];
  const known = views.filter((view) => view.sessionId);
  if (known.length === 0) return [];
  const ids = known.map((view) => `    ${view.name}: ${theme.fg("accent", view.sessionId)}`);
  return ["", theme.fg("dim", "Session IDs (use with get_subagent_output):"), ...ids];
}

function wrapped(text: string, width: number): string[] {
  return wrap(text, width - 2).map((row) => fitted(`  ${row}`, width));
}

function wrap(text: string, width: number): string[] {
  return wrapTextWithAnsi(text, Math.max(width, 1));
}

function fitted(row: string, width: number): string {
  return visibleWidth(row) > width ? truncateToWidth(row, width, "…") : row;
}
