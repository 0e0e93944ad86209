/**
 * What the windows of a call show: folded from the core's deltas while it runs, read from the
 * result's details afterwards.
 *
 * In: notifications `windows`, or details.  Out: the same value for both, ready to be painted.
 */

import { count, type Fields, fields, line, list, word } from "./values.ts";

const MAX_HISTORY = 500;
const DEFAULT_LINES = 15;

export interface Line {
  readonly text: string;
  readonly isTool: boolean;
}

export interface View {
  readonly name: string;
  readonly label: string;
  readonly status: string;
  readonly toolCount: number;
  readonly fileCount: number;
  readonly todo: string;
  readonly place: number;
  readonly elapsedMs: number;
  readonly timeoutS: number;
  readonly tokens: number;
  readonly cost: number;
  readonly errorMessage: string;
  readonly sessionId: string;
  readonly history: readonly Line[];
}

export interface Shown {
  readonly views: readonly View[];
  readonly maxLines: number;
}

/** The windows of one call while it runs. */
export class LiveWindows {
  readonly #views = new Map<number, View & { history: Line[]; heardAt: number }>();
  #maxLines = DEFAULT_LINES;

  apply(params: Fields): void {
    this.#maxLines = count(params.maxLines, this.#maxLines);
    for (const each of list(params.windows)) {
      const told = fields(each);
      const index = count(told.index, -1);
      const before = this.#views.get(index);
      const history = before?.history ?? [];
      history.splice(Math.max(0, history.length - count(told.replaceLast)));
      history.push(...list(told.append).map(readLine));
      history.splice(0, history.length - MAX_HISTORY);
      const title = told.title === undefined ? before : readTitle(fields(told.title));
      this.#views.set(index, { ...readTitle({}), ...title, ...readState(told), history, heardAt: performance.now() });
    }
  }

  get isRunning(): boolean {
    return [...this.#views.values()].some((view) => view.status === "running");
  }

  shown(): Shown {
    const now = performance.now();
    const inOrder = [...this.#views].sort(([one], [other]) => one - other).map(([, view]) => view);
    const ticking = inOrder.map((view) =>
      view.status === "running" ? { ...view, elapsedMs: view.elapsedMs + now - view.heardAt } : view,
    );
    return { views: ticking, maxLines: this.#maxLines };
  }
}

/** The windows in the details of a result, if there are any. */
export function storedWindows(details: unknown): Shown | undefined {
  const { windows, maxLines } = fields(details);
  if (!Array.isArray(windows) || windows.length === 0) return undefined;
  const views = windows.map((each) => {
    const told = fields(each);
    const history = list(told.history ?? told.lines).map(readLine);
    return { ...readTitle(told), ...readState(told), history };
  });
  return { views, maxLines: count(maxLines, DEFAULT_LINES) };
}

function readTitle(told: Fields) {
  const model = [word(told.provider), word(told.model)].filter(Boolean).join("/");
  const details = [model, word(told.thinkingLevel)].filter(Boolean).join(" ");
  const profile = word(told.profile);
  return {
    name: word(told.name) || "sub-agent",
    label: profile && details ? `${profile} (${details})` : profile,
    toolCount: count(told.toolCount),
    fileCount: count(told.fileCount),
    timeoutS: count(told.timeoutS),
    sessionId: word(told.sessionId),
  };
}

function readState(told: Fields) {
  const { completed, total } = fields(told.todo);
  const usage = fields(told.usage);
  return {
    status: word(told.status),
    todo: told.todo ? `[${count(completed)}/${count(total)}]` : "",
    place: count(told.place),
    elapsedMs: count(told.elapsedMs),
    tokens: count(usage.totalTokens),
    cost: count(typeof usage.cost === "number" ? usage.cost : fields(usage.cost).total),
    errorMessage: word(told.errorMessage),
  };
}

function readLine(value: unknown): Line {
  const { text, kind } = fields(value);
  return { text: line(text), isTool: kind === "tool" };
}
