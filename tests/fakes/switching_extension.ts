/**
 * Leads the shim through two sessions, and tells what each was told and what its core was asked.
 *
 * In: PI_SUBAGENTS_SHIM, the folder of the shim; PI_SUBAGENTS_CORE, a core that answers `complete`
 * with the methods that came.  Out: one JSON object on standard error; pi ends.
 */

import type { ExtensionAPI, ExtensionToolContext, ToolDefinition } from "@earendil-works/pi-coding-agent";

type Handler = (event: object, ctx: ExtensionToolContext) => unknown;
type Complete = (prefix: string) => Promise<{ value: string }[]>;

export default async function switching(): Promise<void> {
  const shim = await import(`${process.env.PI_SUBAGENTS_SHIM}/index.ts`);
  const handlers = new Map<string, Handler>();
  const tools: ToolDefinition[] = [];
  const told: string[] = [];
  let complete: Complete = async () => [];
  shim.default({
    registerTool: (tool: ToolDefinition) => tools.push(tool),
    registerCommand: (_: string, { getArgumentCompletions }: { getArgumentCompletions?: Complete }) => {
      complete = getArgumentCompletions ?? complete;
    },
    registerMessageRenderer: () => undefined,
    on: (event: string, handler: Handler) => handlers.set(event, handler),
    getActiveTools: () => [],
    setActiveTools: () => undefined,
  } as unknown as ExtensionAPI);

  function context(id: string): ExtensionToolContext {
    return {
      cwd: process.cwd(),
      hasUI: true,
      ui: { notify: (text: string) => told.push(`${id}: ${text}`) },
      sessionManager: { getSessionId: () => id, getEntries: () => [] },
      modelRegistry: { getAvailable: () => [] },
      isProjectTrusted: () => true,
    } as unknown as ExtensionToolContext;
  }

  const [first, second] = [context("first"), context("second")];
  await handlers.get("session_start")?.({ reason: "startup" }, first);
  const turn = new AbortController();
  for (const callId of ["c1", "c2"]) await tools[0]?.execute(callId, {}, turn.signal, undefined, first);
  turn.abort(); // Escape, when both calls are over
  await handlers.get("session_shutdown")?.({ reason: "resume" }, first);
  await handlers.get("session_start")?.({ reason: "resume" }, second);
  const came = (await complete("")).map(({ value }) => value);
  console.error(JSON.stringify({ told, came }));
  process.exit(0);
}
