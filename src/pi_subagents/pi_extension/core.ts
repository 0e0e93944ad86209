/**
 * The core beside pi: find it, start it, exchange JSON-RPC 2.0 with it, one object per line.
 *
 * In: requests of this side, and who serves those of the other.  Out: answers, or an Error in words for
 * a person.  A core that dies is started again once; its stdin closes when pi ends.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import SPEC from "./tools.json" with { type: "json" };
import { attempt, type Fields, fields, filled, word } from "./values.ts";

const KEPT_STDERR = 4096;
const CLOSE_MS = 1000; // no core keeps pi from another session for longer
const FAILED = -32603;
const FOLDER = dirname(fileURLToPath(import.meta.url));
const OWN_PREFIX = /^(.*)\/lib\/(python3\.\d+)\/(?:site|dist)-packages\/pi_subagents\//;

interface Session {
  readonly cwd: string;
  greeting(): object;
  serve(method: string, params: Fields): unknown;
}

const waiting = new Map<unknown, { resolve(answer: Fields): void; reject(why: Error): void }>();
let session: Session | undefined;
let core: ChildProcessWithoutNullStreams | undefined;
let absence = SPEC.words.noSession;
let requests = 0;
let deaths = 0;

/** Begin a session of pi, with the core that runs already or a new one; what that answers, if it does. */
export async function open(opened: Session | undefined): Promise<Fields> {
  session = opened;
  if (session === undefined || deaths > 1) return {};
  core ??= started(session.cwd);
  return request("hello", session.greeting()).catch(() => ({})); // a later request fails with the reason
}

/** End it before pi's API is stale; what the core says until it answers is kept.  With pi it ends too, in order. */
export async function close(reason: string): Promise<void> {
  const closed = session;
  const isEnd = reason === "quit" || reason === "reload";
  if (!isEnd) await Promise.race([request("close", {}), pause(CLOSE_MS, null, { ref: false })]).catch(() => undefined);
  if (session === closed) session = undefined;
  if (!isEnd) return;
  send({ id: 0, method: "bye", params: { reason } });
  core?.stdin.end();
  for (const each of [core, ...(core?.stdio ?? [])]) (each as { unref?(): void } | null)?.unref?.();
  core = undefined;
}

export function request(method: string, params: object): Promise<Fields> {
  return new Promise((resolve, reject) => {
    if (core === undefined) return reject(new Error(absence));
    waiting.set(++requests, { resolve, reject });
    send({ id: requests, method, params });
  });
}

export function send(message: object): void {
  core?.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function started(cwd: string): ChildProcessWithoutNullStreams {
  const [program = "", ...rest] = coreCommand();
  // A session of its own: Ctrl+C in print mode and a closed terminal reach it as the end of stdin.
  const child = spawn(program, [...rest, "bridge"], { cwd, stdio: "pipe", detached: true });
  let stderr = "";
  child.on("error", ({ message }) => {
    deaths += 1; // another attempt would end in the same way
    ended(child, filled(SPEC.words.notStarted, message));
  });
  child.on("close", (code, signal) => {
    const how = [signal ?? `exit code ${code}`, word(stderr.trim().split("\n").at(-1))];
    ended(child, filled(SPEC.words.died, how.filter(Boolean).join(": ")));
  });
  child.stdin.on("error", () => undefined); // its end is reported by "close"
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-KEPT_STDERR);
  });
  createInterface({ input: child.stdout }).on("line", take);
  return child;
}

function ended(child: ChildProcessWithoutNullStreams, why: string): void {
  for (const { reject } of waiting.values()) reject(new Error(why));
  waiting.clear();
  if (core !== child) return; // it was released
  core = undefined;
  absence = filled(SPEC.words.untilReload, why);
  const isLast = ++deaths > 1;
  const message = isLast ? absence : filled(SPEC.words.startedAgain, why);
  session?.serve("notify", { message, level: isLast ? "error" : "warning" });
  if (isLast) session?.serve("status", { text: null });
  open(session);
}

async function take(line: string): Promise<void> {
  const { id, method, params, result, error } = fields(attempt(() => JSON.parse(line), undefined));
  if (typeof method !== "string") {
    if (error === undefined) waiting.get(id)?.resolve(fields(result));
    else waiting.get(id)?.reject(new Error(word(fields(error).message)));
    waiting.delete(id);
    return;
  }
  try {
    const served = await session?.serve(method, fields(params));
    if (id !== undefined) send({ id, result: served ?? null });
  } catch (problem) {
    const message = word(String(problem));
    if (id === undefined) send({ method: "failed", params: { method, message } });
    else send({ id, error: { code: FAILED, message } });
  }
}

/** The command of the very Python that owns this folder, else `subagents` from PATH. */
function coreCommand(): readonly string[] {
  const said = (process.env.PI_SUBAGENTS_CORE ?? "").split(/\s+/).filter(Boolean);
  if (said.length > 0) return said;
  const [, prefix = "", name = ""] = OWN_PREFIX.exec(`${FOLDER}/`) ?? [];
  const python = [noted(), prefix && join(prefix, "bin", name)].find((path) => path && existsSync(path));
  return python ? [python, "-P", "-m", "pi_subagents"] : ["subagents"];
}

/** The Python that `subagents install pi` and `subagents path pi-extension` wrote down for this folder. */
function noted(): string {
  const { PI_SUBAGENTS_DATA: own, XDG_DATA_HOME: xdg } = process.env;
  const usual = process.platform === "darwin" ? ["Library", "Application Support"] : [".local", "share"];
  const data = own || join(xdg?.startsWith("/") ? xdg : join(homedir(), ...usual), "pi-subagents");
  const note = attempt(() => JSON.parse(readFileSync(join(data, "pi-extension.json"), "utf8")), undefined);
  return word(fields(fields(note).pythons)[FOLDER]);
}
