/**
 * Paints what a test wants painted, with the names of pi's colours in place of colours.
 *
 * In: PI_SUBAGENTS_SHIM, the folder of the shim; PI_SUBAGENTS_CASES, a JSON list of what to paint.
 * Out: a JSON list of lists of lines on standard error; pi ends.
 */

import { readFileSync } from "node:fs";
import type { Theme } from "@earendil-works/pi-coding-agent";

const COLOURS = [
  "accent",
  "dim",
  "error",
  "muted",
  "success",
  "toolDiffAdded",
  "toolDiffRemoved",
  "toolOutput",
  "toolTitle",
  "warning",
];
const THEME = {
  fg: (colour: string, text: string) => (text ? `\u001b[38;5;${COLOURS.indexOf(colour)}m${text}\u001b[39m` : ""),
  bold: (text: string) => `\u001b[1m${text}\u001b[22m`,
} as unknown as Theme;

type Kind = "call" | "text" | "end" | "windows" | "live";
type Case = Readonly<Record<string, unknown>> & { kind: Kind; deltas?: unknown[]; width?: number };

/** The line with `<colour>…</>` and `*bold*` for what a terminal would be told. */
function readable(row: string): string {
  return row
    .split("\u001b")
    .map((part, index) =>
      index === 0 ? part : part.replace(/^\[(?:38;5;(\d+)|\d*)m/, (all, colour) => mark(all, colour)),
    )
    .join("");
}

function mark(sequence: string, colour: string | undefined): string {
  if (colour !== undefined) return `<${COLOURS[Number(colour)]}>`;
  return { "[39m": "</>", "[1m": "*", "[22m": "*" }[sequence] ?? "";
}

/** How often a call whose clock stands still is painted again after a burst of news. */
async function redraws(live: { [name: string]: (...given: unknown[]) => void }): Promise<number> {
  let redrawn = 0;
  live.begin?.("call", () => undefined);
  await new Promise<void>((resolve) => {
    live.watch?.("call", () => {
      redrawn += 1;
      resolve();
    });
    const news = { callId: "call", windows: [{ index: 0, status: "queued" }] };
    for (let count = 0; count < 40; count += 1) live.windows?.(news);
    setTimeout(resolve, 10_000);
  });
  live.end?.("call");
  return redrawn;
}

export default async function painting(): Promise<void> {
  const folder = process.env.PI_SUBAGENTS_SHIM;
  const paint = await import(`${folder}/paint.ts`);
  const { LiveWindows, storedWindows } = await import(`${folder}/windows.ts`);
  const cases = JSON.parse(readFileSync(process.env.PI_SUBAGENTS_CASES ?? "", "utf8"));
  const painted = cases.map((wanted: Case) => {
    const {
      kind,
      name,
      args,
      content,
      details,
      deltas,
      expanded = false,
      whole = false,
      isError = false,
      width = 100,
    } = wanted;
    const live = new LiveWindows();
    for (const delta of deltas ?? []) live.apply(delta);
    const component = {
      call: () => paint.paintCall(name, args, THEME),
      text: () => paint.paintText(content, details, whole, isError, THEME),
      end: () => paint.paintEnd(details, expanded, THEME),
      windows: () => paint.paintWindows(storedWindows(details), expanded, THEME),
      live: () => paint.paintWindows(live.shown(), expanded, THEME),
    }[kind]();
    return component.render(width).map(readable);
  });
  const { LiveCalls } = await import(`${folder}/live.ts`);
  console.error(JSON.stringify({ painted, redraws: await redraws(new LiveCalls()) }));
  process.exit(0);
}
