/**
 * Paints what a test wants painted, with the names of pi's colours in place of colours.
 *
 * In: PI_SUBAGENTS_SHIM, the folder of the shim; PI_SUBAGENTS_CASES, a JSON list of what to paint.
 * Out: a JSON list of lists of lines on standard error; pi ends.
 */

import { readFileSync } from "node:fs";
import type { ExtensionAPI, MessageRenderer, Theme, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { Component } from "@earendil-works/pi-tui";

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
  fg: (colour: string, text: string) => {
    if (!COLOURS.includes(colour)) throw new Error(`Unknown theme color: ${colour}`);
    return text ? `\u001b[38;5;${COLOURS.indexOf(colour)}m${text}\u001b[39m` : "";
  },
  bg: (_: string, text: string) => text,
  bold: (text: string) => `\u001b[1m${text}\u001b[22m`,
} as unknown as Theme;
// What pi adds for the keys a user has set; an older pi does not.
const NO_HINTS = { keyText: () => "", keyHint: (_: string, description: string) => description };

interface Case {
  readonly kind: "call" | "result" | "end" | "live";
  readonly name?: string;
  readonly args?: unknown;
  readonly content?: unknown;
  readonly details?: unknown;
  readonly isError?: boolean;
  readonly changes?: readonly unknown[];
  readonly expanded?: boolean;
  readonly width?: number;
}

/** The line with `<colour>…</>` and `*bold*` for what a terminal would be told. */
function readable(row: string): string {
  return row
    .trimEnd()
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

export default async function painting(): Promise<void> {
  const folder = process.env.PI_SUBAGENTS_SHIM;
  const shim = await import(`${folder}/index.ts`);
  const pictures = await import(`${folder}/pictures.ts`);
  const tools = new Map<unknown, ToolDefinition>();
  let renderEnd: MessageRenderer | undefined;
  shim.default({
    registerTool: (tool: ToolDefinition) => tools.set(tool.name, tool),
    registerCommand: () => undefined,
    registerMessageRenderer: (_: string, renderer: MessageRenderer) => {
      renderEnd = renderer;
    },
    on: () => undefined,
  } as unknown as ExtensionAPI);

  let redraws = 0;
  function live(changes: readonly unknown[], expanded: boolean): Component {
    pictures.calls.set("call", { parts: new Map(), update: () => undefined });
    pictures.livePicture("call", () => {
      redraws += 1;
    });
    for (const parts of changes) pictures.change({ callId: "call", parts });
    return pictures.painted(
      pictures.livePicture("call", () => undefined),
      expanded,
      THEME,
    );
  }

  const cases: readonly Case[] = JSON.parse(readFileSync(process.env.PI_SUBAGENTS_CASES ?? "", "utf8"));
  const painted = cases.map((wanted) => {
    const { kind, name, args, content, details, isError = false, changes = [], expanded = false, width = 100 } = wanted;
    const tool = tools.get(name);
    const result = { content, details } as never;
    const component = {
      call: () => tool?.renderCall?.(args as never, THEME, {} as never),
      result: () => tool?.renderResult?.(result, { expanded, isPartial: false }, THEME, { isError } as never),
      end: () => renderEnd?.(result, { expanded, outputPad: 0, ...NO_HINTS }, THEME),
      live: () => live(changes, expanded),
    }[kind]();
    return component?.render(width).map(readable);
  });
  console.error(JSON.stringify({ painted, redraws }));
  process.exit(0);
}
