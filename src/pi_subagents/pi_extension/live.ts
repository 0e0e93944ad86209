/**
 * The calls that run at this time: their windows, and when pi is to paint them again.
 *
 * In: notifications of the core by call id.  Out: windows for the renderer; at most one redraw per
 * `REDRAW_MS` and call, and one per second while a clock ticks.  Timers never keep pi alive.
 */

import { type Fields, fields, list, word } from "./values.ts";
import { LiveWindows, type Shown } from "./windows.ts";

const REDRAW_MS = 50;
const TICK_MS = 1000;

type Update = (content: readonly unknown[], details: unknown) => void;

interface LiveCall {
  readonly windows: LiveWindows;
  readonly update: Update;
  redraw: (() => void) | undefined;
  timer: NodeJS.Timeout | undefined;
}

export class LiveCalls {
  readonly #calls = new Map<string, LiveCall>();
  #clock: NodeJS.Timeout | undefined;

  begin(callId: string, update: Update): void {
    this.#calls.set(callId, { windows: new LiveWindows(), update, redraw: undefined, timer: undefined });
    this.#clock ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  end(callId: string): void {
    clearTimeout(this.#calls.get(callId)?.timer);
    this.#calls.delete(callId);
    if (this.#calls.size > 0) return;
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  /** The windows of a call, which is redrawn from now on whenever they change. */
  watch(callId: string, redraw: () => void): Shown | undefined {
    const call = this.#calls.get(callId);
    if (call === undefined) return undefined;
    call.redraw = redraw;
    const shown = call.windows.shown();
    return shown.views.length > 0 ? shown : undefined;
  }

  windows(params: Fields): void {
    const call = this.#calls.get(word(params.callId));
    call?.windows.apply(params);
    if (call) this.#schedule(call);
  }

  update(params: Fields): void {
    this.#calls.get(word(params.callId))?.update(list(params.content), fields(params.details));
  }

  #tick(): void {
    for (const call of this.#calls.values()) if (call.windows.isRunning) this.#schedule(call);
  }

  #schedule(call: LiveCall): void {
    if (call.redraw === undefined) return;
    call.timer ??= setTimeout(() => {
      call.timer = undefined;
      call.redraw?.();
    }, REDRAW_MS).unref();
  }
}
