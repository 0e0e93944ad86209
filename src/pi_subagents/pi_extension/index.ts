/**
 * Sub-agents inside pi: register what tools.json names, paint it, pass everything on to the core.
 *
 * All rules are the core's (`subagents bridge`).  Module variables outlive a new, resumed or forked
 * session; `/reload` evaluates this module again.  Nothing is registered inside a sub-agent.
 */

import { readFileSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { VERSION } from "@earendil-works/pi-coding-agent";
import { type AutocompleteItem, Box } from "@earendil-works/pi-tui";
import { Core } from "./core.ts";
import { LiveCalls } from "./live.ts";
import { paintCall, paintEnd, paintText, paintWindows } from "./paint.ts";
import { type Fields, fields, list, word } from "./values.ts";
import { storedWindows } from "./windows.ts";

const PROTOCOL = 1;
const OURS = "pi-subagents";

type Result = Awaited<ReturnType<ToolDefinition["execute"]>>;
type Level = "info" | "warning" | "error";

interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: Fields;
  readonly needsModels: boolean;
}

const TOOLS = JSON.parse(readFileSync(new URL("./tools.json", import.meta.url), "utf8")).tools as readonly ToolSpec[];
const NAMES = new Set(TOOLS.map((tool) => tool.name));

/** pi as it is at the time: the API and the context of the current session. */
let host: { readonly pi: ExtensionAPI; readonly ctx: ExtensionContext; readonly reason: string } | undefined;
const live = new LiveCalls();
const core = new Core({
  greet: async (request) => {
    if (host === undefined) return;
    const { ctx, reason } = host;
    await request("hello", { protocol: PROTOCOL, cwd: ctx.cwd, piVersion: VERSION, host: "pi" });
    await request("session", {
      sessionId: ctx.sessionManager.getSessionId(),
      reason,
      cwd: ctx.cwd,
      entries: ourEntries(ctx),
    });
  },
  told: (method, params) => told(method, params),
  asked: (method, params) => (method === "dialog" ? dialog(params) : undefined),
  restarting: (why) => notify(`${why} It has been started again.`, "warning"),
});

export default function extension(pi: ExtensionAPI): void {
  if (process.env.PI_SUBAGENTS_CHILD === "1") return;
  for (const tool of TOOLS) pi.registerTool(definition(pi, tool, []));
  pi.registerCommand("profile", {
    description: "Manage sub-agent profiles: list, show, create, edit, delete",
    getArgumentCompletions: complete,
    handler: async (line, ctx) => {
      const asked = { line, hasUI: ctx.hasUI, models: modelNames(ctx) };
      const { text, level } = await core.request("profile", asked).catch(failed);
      if (!ctx.hasUI) console.error(text);
      else ctx.ui.notify(String(text), level as Level);
    },
  });
  pi.registerMessageRenderer(`${OURS}:bg-end`, ({ details }, { expanded, outputPad }, theme) => {
    const box = new Box(outputPad, 1, (text) => theme.bg("customMessageBg", text));
    box.addChild(paintEnd(details, expanded, theme));
    return box;
  });

  const followModels = modelFollower(pi);
  pi.on("session_start", ({ reason }, ctx) => {
    host = { pi, ctx, reason };
    followModels(ctx);
    core.open(ctx.cwd);
  });
  pi.on("before_agent_start", (_event, ctx) => followModels(ctx));
  pi.on("session_shutdown", ({ reason }) => {
    host = undefined; // its API and context are stale from now on
    if (reason === "quit" || reason === "reload") core.close(reason);
  });
  pi.on("tool_result", ({ toolName, details }) =>
    NAMES.has(toolName) && fields(details).isError === true ? { isError: true } : undefined,
  );
}

function definition(pi: ExtensionAPI, tool: ToolSpec, models: readonly string[]): ToolDefinition {
  return {
    name: tool.name,
    label: tool.name,
    description: tool.description,
    parameters: withModels(tool.parameters, models) as ToolDefinition["parameters"],
    execute: (callId, args, signal, onUpdate, ctx) => {
      const params = {
        callId,
        tool: tool.name,
        arguments: args,
        cwd: ctx.cwd,
        parentTools: pi.getActiveTools(),
        models: modelNames(ctx),
        trusted: ctx.isProjectTrusted(),
        columns: process.stdout.columns ?? null,
      };
      return execute(params, signal, onUpdate);
    },
    renderCall: (args, theme) => paintCall(tool.name, args, theme),
    renderResult: ({ content, details }, { expanded, isPartial }, theme, context) => {
      const shown = isPartial ? live.watch(context.toolCallId, context.invalidate) : storedWindows(details);
      if (shown && !fields(details).isError) return paintWindows(shown, expanded, theme);
      const whole = expanded || tool.name === "list_subagent_profiles";
      return paintText(content, details, whole, context.isError, theme);
    },
  };
}

async function execute(
  params: { readonly callId: string },
  signal: AbortSignal | undefined,
  onUpdate: Parameters<ToolDefinition["execute"]>[3],
): Promise<Result> {
  const { callId } = params;
  const cancel = () => core.tell("cancel", { callId });
  live.begin(callId, (content, details) => onUpdate?.({ content: content as Result["content"], details }));
  try {
    const answer = core.request("call", params);
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    const { content, details, isError, usage } = await answer;
    const marked = isError === true ? { ...fields(details), isError: true } : details;
    return { content, details: marked, usage } as unknown as Result;
  } catch (error) {
    return { content: [{ type: "text", text: failed(error).text }], details: { isError: true } };
  } finally {
    signal?.removeEventListener("abort", cancel);
    live.end(callId);
  }
}

/** Keep the tools that take a model in step with the models there are. */
function modelFollower(pi: ExtensionAPI): (ctx: ExtensionContext) => void {
  const dependent = TOOLS.filter((tool) => tool.needsModels);
  let known: string | undefined;
  let hidden: readonly string[] = [];
  return (ctx) => {
    const models = modelNames(ctx);
    const set = [...new Set(models)].sort().join("\n");
    if (set === known) return;
    known = set;
    if (models.length === 0) {
      const active = pi.getActiveTools();
      hidden = dependent.map((tool) => tool.name).filter((name) => active.includes(name));
      pi.setActiveTools(active.filter((name) => !hidden.includes(name)));
      return;
    }
    for (const tool of dependent) pi.registerTool(definition(pi, tool, models));
    if (hidden.length > 0) pi.setActiveTools([...pi.getActiveTools(), ...hidden]);
    hidden = [];
  };
}

function modelNames(ctx: ExtensionContext): string[] {
  return ctx.modelRegistry.getAvailable().map((model) => `${model.provider}/${model.id}`);
}

/** The schema with the models there are as the values of every parameter `model`. */
function withModels(schema: unknown, models: readonly string[]): unknown {
  if (models.length === 0 || typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === "model" ? [key, { ...fields(value), enum: models }] : [key, withModels(value, models)],
    ),
  );
}

function ourEntries(ctx: ExtensionContext): Fields[] {
  const entries = ctx.sessionManager.getEntries().map((entry) => fields(entry));
  const ours = entries.filter(({ type, customType }) => type === "custom" && word(customType).startsWith(OURS));
  return ours.map(({ customType, data }) => ({ customType, data }));
}

function told(method: string, params: Fields): void {
  if (host === undefined) return;
  const { pi, ctx } = host;
  if (method === "windows") live.windows(params);
  else if (method === "update") live.update(params);
  else if (method === "status") ctx.ui.setStatus(OURS, typeof params.text === "string" ? params.text : undefined);
  else if (method === "notify") notify(word(params.message), params.level as Level);
  else if (method === "entry") append(pi, params);
  else if (method === "message") {
    const { customType, content, details } = params;
    pi.sendMessage(
      { customType: word(customType), content: String(content), display: true, details },
      { triggerTurn: false },
    );
  }
}

function append(pi: ExtensionAPI, { customType, data }: Fields): void {
  try {
    pi.appendEntry(word(customType), data);
  } catch (error) {
    notify(`A sub-agent's session could not be kept in this conversation: ${word(String(error))}`, "warning");
  }
}

async function dialog(question: Fields): Promise<{ value: string | boolean | null }> {
  if (!host?.ctx.hasUI) return { value: null };
  const { ui } = host.ctx;
  const title = [question.title, question.message].filter((part) => typeof part === "string").join("\n");
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  const asked = {
    select: () => ui.select(title, list(question.options).map(String)),
    input: () => ui.input(title, text(question.placeholder)),
    editor: () => ui.editor(title, text(question.prefill)),
    confirm: () => ui.confirm(word(question.title), text(question.message) ?? ""),
  }[String(question.kind)];
  return { value: (await asked?.()) ?? null };
}

async function complete(prefix: string): Promise<AutocompleteItem[] | null> {
  const { items } = await core.request("complete", { prefix }).catch(() => ({ items: [] }));
  return list(items).length > 0 ? (items as AutocompleteItem[]) : null;
}

function notify(message: string, level: Level): void {
  host?.ctx.ui.notify(message, level);
}

function failed(error: unknown): { text: string; level: Level } {
  return { text: error instanceof Error ? error.message : String(error), level: "error" };
}
