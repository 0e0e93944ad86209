/**
 * Feeds every renderer of the shim with values that no core would send, and tells what went wrong.
 *
 * In: PI_SUBAGENTS_SHIM, the folder of the shim.  Out: one JSON object on standard error; pi ends.
 */

import type { ExtensionAPI, MessageRenderer, Theme, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { type Component, visibleWidth } from "@earendil-works/pi-tui";

const PLAIN = {
  fg: (_colour: string, text: string) => text,
  bg: (_: string, text: string) => text,
  bold: (text: string) => text,
};
const THEME = PLAIN as unknown as Theme;
// What pi adds for the keys a user has set; an older pi does not.
const NO_HINTS = { keyText: () => "", keyHint: (_: string, description: string) => description };
// biome-ignore lint/suspicious/noControlCharactersInRegex: what cutting a line leaves at its end
const RESET = /\u001b\[0?m/g;
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const WIDTHS = [1, 2, 3, 20, 79, 200];
const LONG = "wide 漢字 👩‍👩‍👧‍👦 ".repeat(40);
const ATTACK = "a\u001b[2J\u001b]52;c;aGk=\u0007b\rc\u0000d\u009b31me\u202ef\u2028g\th";
const ATOMS: unknown[] = [
  undefined,
  null,
  true,
  -1,
  1e300,
  Number.NaN,
  "",
  "text",
  ATTACK,
  LONG,
  [],
  {},
  [null],
  [[]],
  () => 1,
];

const ARGUMENTS = ["tasks", "profile", "preset", "task", "sessionId", "runId", "text"];
const DETAILS = ["picture", "maxLines", "isError", "windows", "parts", "callId"];
const PARTS = ["rows", "add", "at", "drop", "fit", "indent", "latest", "first", "more"];
const FITS = ["cut", "wrap", "unfold", "choose"];

/** Values with an atom at every place that a renderer may look at. */
function hostileValues(): unknown[] {
  const objects = [...ARGUMENTS, ...DETAILS].flatMap((key) => ATOMS.map((atom) => ({ [key]: atom })));
  const tasks = ARGUMENTS.flatMap((key) => ATOMS.map((atom) => ({ tasks: [{ [key]: atom }] })));
  const rows = ATOMS.flatMap((atom) => [
    [atom],
    [[atom, "muted"]],
    [[ATTACK, atom]],
    [ATTACK, [ATTACK, "bold"], [LONG, "no such colour"]],
  ]);
  const parts = FITS.flatMap((fit) => [
    ...PARTS.flatMap((key) => ATOMS.map((atom) => ({ fit, rows: [[ATTACK], ["text"]], add: [[ATTACK]], [key]: atom }))),
    { fit, rows, add: rows, indent: 2, latest: 3 },
    { fit, rows, add: rows, first: 3, more: [ATTACK, ATTACK] },
  ]);
  const pictures = parts.map((part) => ({ callId: "c", picture: [part], parts: [part] }));
  return [...ATOMS, ...objects, ...tasks, ...pictures];
}

export default async function hostile(): Promise<void> {
  const folder = process.env.PI_SUBAGENTS_SHIM;
  const shim = await import(`${folder}/index.ts`);
  const pictures = await import(`${folder}/pictures.ts`);
  const tools: ToolDefinition[] = [];
  let renderEnd: MessageRenderer | undefined;
  shim.default({
    registerTool: (tool: ToolDefinition) => tools.push(tool),
    registerCommand: () => undefined,
    registerMessageRenderer: (_: string, renderer: MessageRenderer) => {
      renderEnd = renderer;
    },
    on: () => undefined,
  } as unknown as ExtensionAPI);
  const problems = new Set<string>();
  let painted = 0;

  function look(what: string, make: () => Component | undefined): void {
    try {
      const component = make();
      for (const width of component ? WIDTHS : []) {
        for (const row of component?.render(width) ?? []) {
          painted += 1;
          if (visibleWidth(row) > width) problems.add(`${what}: wider than ${width}`);
          if (UNPRINTABLE.test(row.replace(RESET, ""))) problems.add(`${what}: ${JSON.stringify(row).slice(0, 80)}`);
        }
      }
    } catch (error) {
      problems.add(`${what}: ${error}`);
    }
  }

  for (const value of hostileValues()) {
    for (const expanded of [false, true]) {
      const options = { expanded, isPartial: false };
      const context = { isError: expanded } as never;
      for (const tool of tools.slice(0, 5))
        look(`call ${tool.name}`, () => tool.renderCall?.(value as never, THEME, context));
      for (const result of [
        { content: value, details: value },
        { content: [value], details: value },
      ]) {
        look("result", () => tools[0]?.renderResult?.(result as never, options, THEME, context));
        look("end", () => renderEnd?.(result as never, { expanded, outputPad: 0, ...NO_HINTS }, THEME));
      }
      look("live", () => {
        pictures.calls.set("c", { parts: new Map(), update: () => undefined });
        for (const change of [value, value]) pictures.change(change ?? {});
        return pictures.painted(pictures.livePicture("c", () => undefined) ?? [], expanded, THEME);
      });
    }
  }
  console.error(JSON.stringify({ painted, problems: [...problems] }));
  process.exit(0);
}
