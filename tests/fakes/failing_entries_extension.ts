/** Loads the shim (PI_SUBAGENTS_SHIM) into a pi whose session log takes no entries. */

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default async function failingEntries(pi: ExtensionAPI): Promise<void> {
  const shim = await import(`${process.env.PI_SUBAGENTS_SHIM}/index.ts`);
  const appendEntry = () => {
    throw new Error("the disk is full");
  };
  shim.default(
    new Proxy(pi, {
      get: (target, name) => (name === "appendEntry" ? appendEntry : Reflect.get(target, name)),
    }),
  );
}
