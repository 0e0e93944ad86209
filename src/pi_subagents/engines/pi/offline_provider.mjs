// Registers the offline model as a provider of pi (pi -e offline_provider.mjs).
// The address names this child's own conversation on the loopback server; without it there is
// nothing to register, and pi's own "unknown provider" message is the truthful one.
export default function (pi) {
  const baseUrl = process.env.PI_SUBAGENTS_OFFLINE_URL;
  if (!baseUrl) return;
  reachLoopbackDirectly(process.env);
  pi.registerProvider("subagents-offline", {
    name: "Offline stand-in (not a language model)",
    baseUrl,
    apiKey: "offline",
    api: "openai-completions",
    models: [
      {
        id: "offline",
        name: "Offline stand-in (not a language model)",
        reasoning: true,
        input: ["text"],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow: 1000000,
        maxTokens: 32000,
      },
    ],
  });
}

// pi sends every request through HTTP_PROXY, loopback included, and a proxy cannot reach this
// machine's own server.  The variables are read again at each request.
function reachLoopbackDirectly(env) {
  if (!env.http_proxy && !env.HTTP_PROXY) return;
  const direct = [env.no_proxy ?? env.NO_PROXY, "127.0.0.1"].filter(Boolean).join(",");
  env.no_proxy = direct;
  env.NO_PROXY = direct;
}
