// GitHub Copilot bills a request by who began it. What a sub-agent asks was begun by an agent, also
// where pi, seeing a user's message, would say otherwise.
export default function (pi) {
  pi.on("before_provider_headers", (event, context) => {
    if (context.model?.provider === "github-copilot") {
      event.headers["X-Initiator"] = "agent";
    }
  });
}
