/**
 * Loads the shim as pi would, and tells what that costs.
 *
 * In: PI_SUBAGENTS_SHIM, the folder of the shim.  Out: one JSON object on standard error: the
 * milliseconds that loading and registering took, and those of the first `session_start`.
 */

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

type Handler = (...given: unknown[]) => unknown;

export default async function stopwatch(pi: ExtensionAPI): Promise<void> {
  const before = performance.now();
  const shim = await import(`${process.env.PI_SUBAGENTS_SHIM}/index.ts`);
  let loadMs = 0;
  const timed = (handler: Handler) => (event: unknown, ctx: unknown) => {
    const started = performance.now();
    const result = handler(event, ctx);
    console.error(JSON.stringify({ loadMs, startMs: performance.now() - started }));
    return result;
  };
  const on = pi.on.bind(pi) as unknown as (event: string, handler: Handler) => void;
  shim.default(
    new Proxy(pi, {
      get: (target, name) =>
        name === "on"
          ? (event: string, handler: Handler) => on(event, event === "session_start" ? timed(handler) : handler)
          : Reflect.get(target, name),
    }),
  );
  loadMs = performance.now() - before;
}
