/**
 * Feeds every renderer of the shim with values that no core would send, and tells what went wrong.
 *
 * In: PI_SUBAGENTS_SHIM, the folder of the shim.  Out: one JSON object on standard error; pi ends.
 */

import type { Theme } from "@earendil-works/pi-coding-agent";
import { type Component, visibleWidth } from "@earendil-works/pi-tui";

const PLAIN = {
  fg: (_colour: string, text: string) => text,
  bg: (_: string, text: string) => text,
  bold: (text: string) => text,
};
const THEME = PLAIN as unknown as Theme;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what cutting a line leaves at its end
const RESET = /\u001b\[0?m/g;
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const WIDTHS = [1, 2, 3, 20, 79, 200];
const LONG = "wide 漢字 👩‍👩‍👧‍👦 ".repeat(400);
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

function hostileValues(): unknown[] {
  const keys = [
    "tasks",
    "windows",
    "profile",
    "name",
    "preset",
    "task",
    "sessionId",
    "runId",
    "maxLines",
    "status",
    "output",
  ];
  const objects = keys.flatMap((key) => ATOMS.map((atom) => ({ [key]: atom })));
  const inLists = keys.flatMap((key) =>
    ATOMS.map((atom) => ({ tasks: [{ [key]: atom }], windows: [{ [key]: atom }] })),
  );
  const parts = [
    "lines",
    "history",
    "todo",
    "usage",
    "title",
    "append",
    "replaceLast",
    "index",
    "elapsedMs",
    "errorMessage",
    "place",
  ];
  const windows = parts.flatMap((key) =>
    ATOMS.map((atom) => ({ callId: "c", windows: [{ index: 0, name: ATTACK, status: "running", [key]: atom }] })),
  );
  const lines = ATOMS.map((atom) => ({
    windows: [
      {
        status: "error",
        errorMessage: ATTACK,
        history: [
          { text: atom, kind: "tool" },
          { text: ATTACK, kind: atom },
        ],
      },
    ],
  }));
  return [...ATOMS, ...objects, ...inLists, ...windows, ...lines];
}

export default async function hostile(): Promise<void> {
  const folder = process.env.PI_SUBAGENTS_SHIM;
  const paint = await import(`${folder}/paint.ts`);
  const { LiveWindows, storedWindows } = await import(`${folder}/windows.ts`);
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
      for (const name of ["delegate_to_subagents", "subagent", "get_subagent_output"]) {
        look(`call ${name}`, () => paint.paintCall(name, value, THEME));
      }
      look("text", () => paint.paintText([{ type: "text", text: value }], value, expanded, expanded, THEME));
      look("content", () => paint.paintText(value, value, expanded, expanded, THEME));
      look("end", () => paint.paintEnd(value, expanded, THEME));
      look("stored", () => {
        const shown = storedWindows(value);
        return shown && paint.paintWindows(shown, expanded, THEME);
      });
      look("live", () => {
        const live = new LiveWindows();
        live.apply(value ?? {});
        live.apply(value ?? {});
        return paint.paintWindows(live.shown(), expanded, THEME);
      });
    }
  }
  console.error(JSON.stringify({ painted, problems: [...problems] }));
  process.exit(0);
}
