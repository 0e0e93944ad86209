// What a run wants of its child beside its prompt: its orders, one JSON object.
//
//   schema, wrapped   the answer is to be given by `submit_answer`, whose parameters these are
//   checker           what first finds out whether an answer can be checked in time
//   questions         the model may ask whoever delegated, by `ask_parent`
//   permissions       what may be called: a word for each tool, and one for every `other`
//
// They come for each run, never by the command line, so that runs may share a child: in RPC mode by
// a command, which no model reads, in JSON mode by a file that a variable names. Nothing of one
// run's orders stays for the next.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const COMMAND = "pi-subagents-orders";
const VARIABLE = "PI_SUBAGENTS_ORDERS";

const CHECK_LIMIT_MS = 30_000; // it ends itself after two seconds of work

/** Throw where pi's own check, which nothing can interrupt, might not come to an end. */
function tryCheck([program, ...options], schema, value) {
  const input = JSON.stringify({ schema, value });
  const { status } = spawnSync(program, options, { input, timeout: CHECK_LIMIT_MS, killSignal: "SIGKILL" });
  if (status !== 0) throw new Error("This answer could not be checked within the limits of time and memory.");
}

// Of a value that can be kept.
const MOST_CHARACTERS = 4_194_304;
const MOST_LEVELS = 64;

const containersIn = (parts) => parts.filter((part) => typeof part === "object" && part !== null);

/** Return the value, or throw where it is too large or nested too deeply to be kept. */
function kept(value) {
  if (JSON.stringify(value).length > MOST_CHARACTERS)
    throw new Error(`The answer was not taken: it has more than ${MOST_CHARACTERS} characters.`);
  let level = containersIn([value]);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === MOST_LEVELS)
      throw new Error(`The answer was not taken: it is nested more than ${MOST_LEVELS} levels deep.`);
    level = level.flatMap((outer) => containersIn(Object.values(outer)));
  }
  return value;
}

function submitAnswer({ schema, wrapped, checker }) {
  return {
    name: "submit_answer",
    label: "Submit answer",
    description:
      "Give your final answer, in the form its parameters have. " +
      "Call it once, when everything else is done: it ends the task.",
    promptSnippet: "Give the final answer and end the task",
    promptGuidelines: ["Give your final answer with submit_answer, in no other way."],
    parameters: schema,
    exposure: "model-only",
    prepareArguments(given) {
      if (checker) tryCheck(checker, schema, given);
      return given;
    },
    async execute(_id, given) {
      return {
        content: [{ type: "text", text: "The answer was taken." }],
        details: { value: kept(wrapped ? given.value : given) },
        terminate: true,
      };
    },
  };
}

const ALLOW = "Allow";
const DENY = "Deny";
const SHOWN = 4000; // characters of a call

function askParent() {
  return {
    name: "ask_parent",
    label: "Ask",
    description:
      "Ask whoever gave you the task, and wait for the answer. " +
      "Only where you cannot find it out or decide it yourself.",
    promptSnippet: "Ask whoever gave you the task",
    parameters: {
      type: "object",
      properties: {
        question: { type: "string", description: "Complete in itself." },
        options: { type: "array", items: { type: "string" }, description: "The answers there are, if few." },
      },
      required: ["question"],
    },
    exposure: "model-only",
    async execute(_id, { question, options }, signal, _onUpdate, { ui }) {
      const said = options?.length
        ? await ui.select(question, options, { signal })
        : await ui.input(question, undefined, { signal });
      const text = said ?? "Nobody answered. Decide yourself, and say in your answer what you assumed.";
      return { content: [{ type: "text", text }], details: { answered: said !== undefined } };
    },
  };
}

/** Return why a call may not be made; nothing where it may. */
async function refusal({ toolName, input }, orders, { ui, signal }) {
  if (!orders) return "What may be called is not known yet.";
  const { permissions } = orders;
  const word = permissions ? (permissions.tools[toolName] ?? permissions.other) : "allow";
  if (word === "allow") return undefined;
  if (word !== "ask") return `Calls of ${toolName} are not permitted in this task. Do without it.`;
  const call = toolName === "bash" ? String(input.command) : JSON.stringify(input, null, 2);
  const more = call.length - SHOWN;
  const shown = more > 0 ? `${call.slice(0, SHOWN)}\n... ${more} more characters` : call;
  const said = await ui.select(`May I call ${toolName}?\n\n${shown}`, [ALLOW, DENY], { signal });
  if (said === ALLOW) return undefined;
  return said === DENY
    ? `This call of ${toolName} was not permitted. Do without it, or find another way.`
    : `Nobody said whether ${toolName} may be called, so it may not. Do without it.`;
}

// Every tool that orders may ask for: its name, and what makes it of orders that want it.
const TOOLS = {
  submit_answer: (orders) => orders.schema && submitAnswer(orders),
  ask_parent: (orders) => orders.questions && askParent(),
};

export default function (pi) {
  let current; // without orders nothing may be called

  function obey(orders) {
    current = orders;
    const wanted = Object.values(TOOLS)
      .map((make) => make(orders))
      .filter(Boolean);
    for (const tool of wanted) {
      pi.registerTool(tool);
    }
    const others = pi.getActiveTools().filter((name) => !(name in TOOLS));
    pi.setActiveTools([...others, ...wanted.map((tool) => tool.name)]);
  }

  pi.registerCommand(COMMAND, {
    description: "Orders of pi-subagents for the next run",
    handler: async (orders) => obey(JSON.parse(orders)),
  });
  pi.on("tool_call", async (event, ctx) => {
    const reason = await refusal(event, current, ctx).catch((error) => `It could not be asked: ${error.message}`);
    return reason === undefined ? undefined : { block: true, reason };
  });
  const file = process.env[VARIABLE];
  if (file) {
    pi.on("session_start", () => obey(JSON.parse(readFileSync(file, "utf8"))));
  }
}
