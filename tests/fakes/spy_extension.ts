/** Tells a test what pi knows of our tools, and gives pi models at run time. */

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function spy(pi: ExtensionAPI): void {
  let seen: unknown;
  pi.registerCommand("spy", {
    handler: async (_line, ctx) => {
      const tool = pi.getAllTools().find(({ name }) => name === "background_agent");
      const parameters = tool?.parameters as unknown as { properties: { model: { enum?: string[] } } };
      const told = {
        active: pi.getActiveTools(),
        models: parameters.properties.model.enum ?? [],
        isSameDefinition: parameters === seen,
      };
      seen = parameters;
      ctx.ui.notify(JSON.stringify(told), "info");
    },
  });
  pi.registerCommand("spy-models", {
    handler: async (line, ctx) => {
      const [baseUrl = "", ...ids] = line.split(" ");
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const common = { reasoning: false, input: ["text" as const], cost, contextWindow: 100000, maxTokens: 1000 };
      const models = ids.map((id) => ({ id, name: id, ...common }));
      pi.registerProvider("late", { baseUrl, apiKey: "x", api: "openai-completions", models });
      ctx.ui.notify("registered", "info");
    },
  });
}
