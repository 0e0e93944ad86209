// Says what a provider answered where that was no answer: its status, and until when it wants to be
// left alone. pi passes on the words alone. It is said as an entry of the session, which no model
// reads and which pi announces before the message that failed.
const ENTRY = "pi-subagents-response";

let current; // the pi of the session that is open
let asking = false; // what is fetched now, the model is asked by
let plainFetch;

/** Return when to ask again, in milliseconds since 1970; undefined where nobody says. */
function until(headers) {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (ms >= 0) return Math.ceil(Date.now() + ms);
  const after = headers.get("retry-after") ?? "";
  const seconds = Number(after);
  if (after !== "" && seconds >= 0) return Math.ceil(Date.now() + seconds * 1000);
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : date;
}

function report(status, headers) {
  if (!asking || status < 400) return;
  try {
    current.appendEntry(ENTRY, { status, until: until(headers) });
  } catch {
    // a session that is being left: nobody reads of it any more
  }
}

export default function (pi) {
  current = pi;
  pi.on("turn_start", () => {
    asking = true;
  });
  pi.on("tool_execution_start", () => {
    asking = false; // tools may fetch as well
  });
  // Of transports that do not fetch, and report errors at all.
  pi.on("after_provider_response", ({ status, headers }) => report(status, new Headers(headers)));
  if (plainFetch) return;
  plainFetch = globalThis.fetch;
  globalThis.fetch = async function fetch(...request) {
    const response = await plainFetch.apply(this, request);
    report(response.status, response.headers);
    return response;
  };
}
