/**
 * Sub-agents inside pi: register what tools.json names, paint it, pass everything on to the core.
 *
 * All rules are the core's (`subagents bridge`).  Module variables outlive a new, resumed or forked
 * session; `/reload` evaluates this module again.  Nothing is registered inside a sub-agent.
 */

import { setTimeout as pause } from "node:timers/promises";
import type { ExtensionAPI, ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { VERSION } from "@earendil-works/pi-coding-agent";
import { type AutocompleteItem, Box } from "@earendil-works/pi-tui";
import * as core from "./core.ts";
import { callPicture, calls, change, livePicture, painted, storedPicture } from "./pictures.ts";
import SPEC from "./tools.json" with { type: "json" };
import { attempt, type Fields, fields, filled, list, word } from "./values.ts";

const PROTOCOL = 2;
const OURS = "pi-subagents";
const END = `${OURS}:bg-end`;
const OFFER_MS = 3000; // a core that takes longer is not waited for
const ESCAPE_S = 8; // the core's ladder takes five, then it looks for what is left
const LONGEST_HINT = 1000; // no path is longer, and starting a child needs no prompt
const EARLY = new Map<unknown, string>(
  SPEC.tools.flatMap(({ name, prewarm }) => (prewarm === null ? [] : [[name, prewarm] as const])),
);

const dialogs = new Map<unknown, AbortController>();

type Tool = (typeof SPEC.tools)[number];
type Result = Awaited<ReturnType<ToolDefinition["execute"]>>;
type Level = "info" | "warning" | "error";

export default function extension(pi: ExtensionAPI): void {
  if (process.env.PI_SUBAGENTS_CHILD === "1") return;
  for (const tool of SPEC.tools) pi.registerTool(definition(pi, tool, tool.description, []));
  for (const { name, description, completed } of SPEC.commands) {
    pi.registerCommand(name, {
      description,
      ...(completed && { getArgumentCompletions: completions }),
      handler: async (line, ctx) => {
        const asked = core.request(name, { line, ...circumstances(pi, ctx), columns: columns() });
        const { text, level } = await asked.catch((error) => ({ text: error.message, level: "error" }));
        if (text) say(ctx, String(text), level as Level);
      },
    });
  }
  pi.registerMessageRenderer(END, ({ content, details }, { expanded, outputPad }, theme) => {
    const box = new Box(outputPad, 1, (text) => theme.bg("customMessageBg", text));
    box.addChild(painted(storedPicture(details, content, SPEC.text, ""), expanded, theme));
    return box;
  });

  const toolbox = keeper(pi);
  pi.on("session_start", ({ reason }, ctx) => {
    toolbox.follow(ctx);
    const serve = (method: string, params: Fields) => served(pi, ctx, method, params);
    let greetings = 0;
    toolbox.expect(core.open({ cwd: ctx.cwd, greeting: () => greeting(ctx, reason, greetings++ === 0), serve }));
  });
  pi.on("before_agent_start", async (_event, ctx) => {
    await toolbox.settle();
    toolbox.follow(ctx);
  });
  const prewarm = prewarmer(pi);
  pi.on("message_update", (event, ctx) => attempt(() => prewarm(fields(event.assistantMessageEvent), ctx), undefined));
  pi.on("session_shutdown", ({ reason }) => core.close(reason));
  pi.on("tool_result", ({ toolName, details }) => {
    const isOurs = SPEC.tools.some((tool) => tool.name === toolName);
    return isOurs && fields(details).isError === true ? { isError: true } : undefined;
  });
}

function definition(pi: ExtensionAPI, tool: Tool, about: string, models: readonly string[]): ToolDefinition {
  // Every parameter `model` takes one of the models there are.
  const known = (key: string, value: object) => (key === "model" ? { ...value, enum: models } : value);
  return {
    name: tool.name,
    label: tool.name,
    description: about,
    promptSnippet: tool.snippet,
    promptGuidelines: tool.rules,
    // Called by the model alone: a call of a script would have no windows.  Older versions ignore it.
    ...({ exposure: "model-only" } as object),
    parameters: models.length > 0 ? JSON.parse(JSON.stringify(tool.parameters), known) : tool.parameters,
    execute: (callId, args, signal, onUpdate, ctx) => {
      calls.set(callId, { parts: new Map(), update: (progress) => onUpdate?.(progress as unknown as Result) });
      const asked = { callId, tool: tool.name, arguments: args, ...circumstances(pi, ctx), columns: columns() };
      return inTime(core.request("call", asked) as unknown as Promise<Result>, callId, signal)
        .catch(({ message }) => ({ content: [{ type: "text" as const, text: message }], details: { isError: true } }))
        .finally(() => calls.delete(callId));
    },
    renderCall: (args, theme) => painted(callPicture(tool.name, tool.call, args), false, theme),
    renderResult: ({ content, details }, { expanded, isPartial }, theme, { toolCallId, invalidate, isError }) => {
      const picture = isPartial ? livePicture(toolCallId, invalidate) : undefined;
      const stored = storedPicture(details, content, SPEC.text, isError ? "error" : "toolOutput");
      return painted(picture ?? stored, expanded || tool.shownWhole, theme);
    },
  };
}

function circumstances(pi: ExtensionAPI, ctx: ExtensionContext): object {
  const { cwd, hasUI } = ctx;
  return { cwd, parentTools: pi.getActiveTools(), models: modelNames(ctx), trusted: ctx.isProjectTrusted(), hasUI };
}

async function completions(prefix: string): Promise<AutocompleteItem[] | null> {
  return (await core.request("complete", { prefix }).catch(() => ({ items: null }))).items as AutocompleteItem[] | null;
}

function columns(): number | null {
  return process.stdout.columns ?? null;
}

/** Tell the core of a call that is still being written, and of each task as it begins and as it is whole. */
function prewarmer(pi: ExtensionAPI): (event: Fields, ctx: ExtensionContext) => void {
  const cut = (_: string, value: unknown) => (typeof value === "string" ? value.slice(0, LONGEST_HINT) : value);
  let sent = "";
  return ({ type, partial, contentIndex }, ctx) => {
    const { id, name, arguments: written } = fields(list(fields(partial).content)[Number(contentIndex)]);
    const key = EARLY.get(name);
    if (key === undefined) return;
    const tasks = list(fields(written)[key]);
    const whole = tasks.slice(0, type === "toolcall_end" ? undefined : -1);
    const begun = Math.max(1, tasks.length);
    if (sent === `${id} ${whole.length} ${begun}`) return;
    sent = `${id} ${whole.length} ${begun}`;
    const args = JSON.parse(JSON.stringify({ ...fields(written), [key]: whole }, cut));
    core.send({ method: "prewarm", params: { tool: name, arguments: args, begun, ...circumstances(pi, ctx) } });
  };
}

/** Cancel a call on Escape, and fail if the core still has not answered some time after it. */
function inTime<T>(answer: Promise<T>, callId: string, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = () => {
      core.send({ method: "cancel", params: { callId } });
      setTimeout(() => reject(new Error(filled(SPEC.words.unanswered, `${ESCAPE_S}`))), ESCAPE_S * 1000).unref();
    };
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
    answer.then(resolve, reject).finally(() => signal?.removeEventListener("abort", cancel));
  });
}

/** Keep the tools in step with the models there are, and with what the core offers in a session. */
function keeper(pi: ExtensionAPI) {
  let expected: Promise<Fields> | undefined;
  let offer: Fields = {};
  let known: string | undefined;
  let hidden: readonly string[] = [];
  const about = ({ name, description }: Tool) => (offer.tools ? word(fields(offer.tools)[name]) : description);
  const follow = (ctx: ExtensionContext) => {
    const models = modelNames(ctx);
    const set = JSON.stringify([offer, [...new Set(models)].sort()]);
    if (set === known) return;
    known = set;
    const room = Number(offer.modelsRoom ?? SPEC.modelsRoom);
    const offered = JSON.stringify(models).length > room ? [] : models;
    const isOut = (tool: Tool) => about(tool) === "" || (tool.needsModels && models.length === 0);
    const out = SPEC.tools.filter(isOut).map(({ name }) => name);
    const active = pi.getActiveTools();
    const isKept = (name: string) => !out.includes(name);
    for (const tool of SPEC.tools) {
      if (isKept(tool.name)) pi.registerTool(definition(pi, tool, about(tool), tool.needsModels ? offered : []));
    }
    const wanted = [...active.filter(isKept), ...hidden.filter(isKept)];
    if (String(pi.getActiveTools()) !== String(wanted)) pi.setActiveTools(wanted); // those left out stay out
    hidden = [...hidden, ...active].filter((name) => !isKept(name));
  };
  return {
    follow,
    /** Take what a core that was greeted will answer. */
    expect: (greeted: Promise<Fields>) => {
      expected = greeted;
    },
    /** Wait for it before the first request of a session: what a model has read stays as it is. */
    settle: async () => {
      if (expected) offer = await Promise.race([expected, pause(OFFER_MS, {}, { ref: false })]);
      expected = undefined;
    },
  };
}

function modelNames(ctx: ExtensionContext): string[] {
  return ctx.modelRegistry.getAvailable().map((model) => `${model.provider}/${model.id}`);
}

/** What a core has to know of pi and its session, with the entries of the session log that are ours. */
function greeting(ctx: ExtensionContext, reason: string, isFirst: boolean): object {
  const { cwd, sessionManager } = ctx;
  const entries = sessionManager.getEntries().map((entry) => fields(entry));
  const ours = entries.filter(({ type, customType }) => type === "custom" && word(customType).startsWith(OURS));
  const ends = entries.filter(({ customType }) => customType === END).map(({ details }) => word(fields(details).runId));
  const endsShown = isFirst ? ends : null; // later, others may wait in pi for the end of a turn
  const sessionId = sessionManager.getSessionId();
  // Sub-agents run on the very pi that delegates; a compiled one has no script on disk.
  const own = { piVersion: VERSION, program: process.execPath, script: process.argv[1] };
  const session = { cwd, sessionId, reason, entries: ours, endsShown, trusted: ctx.isProjectTrusted() };
  return { protocol: PROTOCOL, host: "pi", ...own, ...session };
}

/** Say something beside the conversation; in print and JSON mode that is for who reads standard error. */
function say({ hasUI, ui }: ExtensionContext, text: string, level: Level): void {
  if (hasUI) ui.notify(text, level);
  else console.error(text);
}

/** Put a message into the conversation; where it is not seen at once, say beside it what it is about. */
function tell(pi: ExtensionAPI, ctx: ExtensionContext, params: Fields): void {
  const { customType, content, details } = params as { customType: string; content: string; details: unknown };
  const { message, level } = fields(params.notice);
  if (message && !(ctx.mode === "tui" && ctx.isIdle())) say(ctx, word(message), level as Level);
  // A turn that is under way is not disturbed: another one follows it.
  const turn = params.wakes === true ? ({ triggerTurn: true, deliverAs: "followUp" } as const) : { triggerTurn: false };
  pi.sendMessage({ customType, content, display: true, details }, turn);
}

/** Ask the person; a dialog with an id is closed again where somebody else has answered. */
function dialog(ui: ExtensionContext["ui"], { kind, dialogId, arguments: given }: Fields): Promise<unknown> {
  const closing = new AbortController();
  if (dialogId) dialogs.set(dialogId, closing);
  const show = ui[kind as "input"] as (...given: unknown[]) => Promise<unknown>;
  // What they take before their options: a title, and the choices, the text or what stands in the field.
  const words = dialogId && kind === "input" ? [...list(given), undefined] : list(given);
  const options = dialogId ? [{ signal: closing.signal }] : [];
  return show.call(ui, ...words, ...options).finally(() => dialogs.delete(dialogId));
}

/** Do what the core says, or ask what it asks; what it says for another session came too late. */
function served(pi: ExtensionAPI, ctx: ExtensionContext, method: string, params: Fields): unknown {
  const { ui, sessionManager } = ctx;
  if ((params.sessionId ?? sessionManager.getSessionId()) !== sessionManager.getSessionId()) return undefined;
  const { content, details } = params;
  const deeds: Readonly<Record<string, () => unknown>> = {
    picture: () => change(params),
    update: () => calls.get(params.callId)?.update({ content, details }),
    status: () => ui.setStatus(OURS, (params.text ?? undefined) as string | undefined),
    notify: () => say(ctx, word(params.message), params.level as Level),
    entry: () => pi.appendEntry(String(params.customType), params.data),
    message: () => tell(pi, ctx, params),
    dialog: () => dialog(ui, params),
    undialog: () => dialogs.get(params.dialogId)?.abort(),
  };
  return deeds[method]?.();
}
