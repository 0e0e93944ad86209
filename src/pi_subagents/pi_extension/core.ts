/**
 * The core beside pi: find it, start it, exchange JSON-RPC 2.0 with it, one object per line.
 *
 * In: requests of this side, and handlers for those of the other.  Out: answers, or CoreFailure in
 * words for a person.  A core that dies is started again once; its stdin closes when pi ends.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Fields, fields, word } from "./values.ts";

const LF = 10;
const KEPT_STDERR = 4096;
const NOT_FOUND = -32601;
const FAILED = -32603;
const PYTHON_OF_PREFIX = /^(.*)\/lib\/(python3\.\d+)\/(?:site|dist)-packages\/pi_subagents\//;
const ADVICE = "Run `subagents install pi` again, or set PI_SUBAGENTS_CORE to the command that starts `subagents`.";

export class CoreFailure extends Error {}

export interface Handlers {
  /** Tell a core that has just started who is asking. */
  greet(request: Request): Promise<void>;
  told(method: string, params: Fields): void;
  asked(method: string, params: Fields): Promise<unknown> | undefined;
  /** A core died and another one is being started. */
  restarting(why: string): void;
}

type Request = (method: string, params: object) => Promise<Fields>;
type Waiting = { resolve(answer: Fields): void; reject(why: CoreFailure): void };

/** The core, whichever process it is at the time. */
export class Core {
  readonly #handlers: Handlers;
  #connection: Connection | undefined;
  #ready: Promise<Connection> | undefined;
  #deaths = 0;

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
  }

  /** Start it unless it runs, and greet it (again: a greeting says what has changed). */
  open(cwd: string): void {
    const connection = this.#connection ?? this.#start(cwd);
    this.#ready = this.#handlers.greet((method, params) => connection.request(method, params)).then(() => connection);
    this.#ready.catch(() => undefined); // whoever makes a request is told
  }

  async request(method: string, params: object): Promise<Fields> {
    if (this.#ready === undefined) throw new CoreFailure("Sub-agents are not available before a session has started.");
    return (await this.#ready).request(method, params);
  }

  /** Send a notification, after the requests that were made before it. */
  tell(method: string, params: object): void {
    this.#ready?.then((connection) => connection.send({ method, params })).catch(() => undefined);
  }

  /** Let it go: it stops attached work in order and exits by itself. */
  close(reason: string): void {
    this.#connection?.close(reason);
    this.#connection = undefined;
    this.#ready = undefined;
  }

  #start(cwd: string): Connection {
    const connection = new Connection(coreCommand(), cwd, this.#handlers, (why, hadStarted) => {
      if (this.#connection !== connection) return; // it was let go
      this.#deaths += 1;
      if (!hadStarted || this.#deaths > 1) {
        this.#ready = Promise.reject(new CoreFailure(`${why} \`/reload\` starts it again.`));
        this.#ready.catch(() => undefined);
        return;
      }
      this.#connection = undefined;
      this.open(cwd);
      this.#handlers.restarting(why);
    });
    this.#connection = connection;
    return connection;
  }
}

/** One process and the lines to and from it. */
class Connection {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #handlers: Handlers;
  readonly #waiting = new Map<number, Waiting>();
  #requests = 0;
  #unfinished: Buffer[] = [];
  #stderr = "";
  #ended = "";

  constructor(
    command: readonly string[],
    cwd: string,
    handlers: Handlers,
    ended: (why: string, hadStarted: boolean) => void,
  ) {
    this.#handlers = handlers;
    const [program = "", ...rest] = command;
    // A session of its own: Ctrl+C in print mode and a closed terminal reach it as the end of stdin.
    this.#process = spawn(program, [...rest, "bridge"], { cwd, stdio: "pipe", detached: true });
    const end = (why: string, hadStarted: boolean) => {
      if (this.#ended) return;
      this.#ended = why;
      for (const waiting of this.#waiting.values()) waiting.reject(new CoreFailure(why));
      this.#waiting.clear();
      ended(why, hadStarted);
    };
    this.#process.on("error", (error) =>
      end(`The core of pi-subagents could not be started: ${error.message}. ${ADVICE}`, false),
    );
    this.#process.on("close", (code, signal) => end(this.#obituary(signal ?? `exit code ${code}`), true));
    this.#process.stdin.on("error", () => undefined); // its end is told by "close"
    this.#process.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#process.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-KEPT_STDERR);
    });
  }

  request(method: string, params: object): Promise<Fields> {
    if (this.#ended) return Promise.reject(new CoreFailure(this.#ended));
    this.#requests += 1;
    const id = this.#requests;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }

  send(message: object): void {
    if (this.#process.stdin.writable) this.#process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  close(reason: string): void {
    this.send({ id: 0, method: "bye", params: { reason } });
    this.#process.stdin.end();
    this.#process.unref();
    for (const stream of [this.#process.stdin, this.#process.stdout, this.#process.stderr]) {
      (stream as unknown as { unref?(): void }).unref?.();
    }
  }

  #obituary(how: string): string {
    const lastWords = word(this.#stderr.trim().split("\n").at(-1));
    return `The core of pi-subagents ended unexpectedly (${how}${lastWords ? `: ${lastWords}` : ""}). Its sub-agents were stopped; what had finished is kept.`;
  }

  #take(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const line = Buffer.concat([...this.#unfinished, chunk.subarray(start, end)]).toString();
      this.#unfinished = [];
      start = end + 1;
      this.#receive(line);
    }
    if (start < chunk.length) this.#unfinished.push(chunk.subarray(start));
  }

  #receive(line: string): void {
    let message: Fields;
    try {
      message = fields(JSON.parse(line));
    } catch {
      return; // not ours: the core writes whole objects only
    }
    const { id, method, params } = message;
    if (typeof method === "string" && id !== undefined) void this.#answer(id, method, fields(params));
    else if (typeof method === "string") this.#handlers.told(method, fields(params));
    else if (typeof id === "number") this.#settle(id, message);
  }

  #settle(id: number, { result, error }: Fields): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(fields(result));
    else
      waiting?.reject(new CoreFailure(word(fields(error).message) || "The core of pi-subagents refused the request."));
  }

  async #answer(id: unknown, method: string, params: Fields): Promise<void> {
    try {
      const result = this.#handlers.asked(method, params);
      if (result === undefined)
        this.send({ id, error: { code: NOT_FOUND, message: `unknown request: ${word(method)}` } });
      else this.send({ id, result: await result });
    } catch (error) {
      this.send({ id, error: { code: FAILED, message: word(String(error)) } });
    }
  }
}

/** The command of the very Python that owns this folder, else `subagents` from PATH. */
function coreCommand(): string[] {
  const said = process.env.PI_SUBAGENTS_CORE;
  if (said) return said.split(/\s+/).filter(Boolean);
  const folder = dirname(fileURLToPath(import.meta.url));
  const python = recorded(folder) ?? besideIt(folder);
  return python === undefined ? ["subagents"] : [python, "-P", "-m", "pi_subagents"];
}

/** What `subagents install pi` and `subagents path pi-extension` have written down for this folder. */
function recorded(folder: string): string | undefined {
  try {
    const { pythons } = fields(JSON.parse(readFileSync(join(dataDir(), "pi-extension.json"), "utf8")));
    const python = fields(pythons)[folder];
    return typeof python === "string" && existsSync(python) ? python : undefined;
  } catch {
    return undefined; // never written
  }
}

function besideIt(folder: string): string | undefined {
  const [, prefix, name] = PYTHON_OF_PREFIX.exec(`${folder}/`) ?? [];
  const python = prefix && name ? join(prefix, "bin", name) : "";
  return python && existsSync(python) ? python : undefined;
}

function dataDir(): string {
  const { PI_SUBAGENTS_DATA: own, XDG_DATA_HOME: xdg } = process.env;
  if (own) return own;
  if (xdg?.startsWith("/")) return join(xdg, "pi-subagents");
  const usual = process.platform === "darwin" ? ["Library", "Application Support"] : [".local", "share"];
  return join(homedir(), ...usual, "pi-subagents");
}
