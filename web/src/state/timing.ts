// When things happened in a turn, as far as this window saw them and the server reports them.
import type { TurnEvent } from '../api/client';
import type { CallTiming } from '../api/inspecting';

export type SpanKind = 'queue' | 'first' | 'prefill' | 'decode' | 'tool';

/** A part of a turn, in milliseconds since it was sent. */
export interface Span {
  kind: SpanKind;
  from: number;
  to: number;
  /** The name of a tool. */
  name?: string;
  tokens?: number;
}

interface Call {
  from: number;
  first: number | null;
  to: number | null;
}

export class TurnClock {
  #started: number | null = null;
  readonly #calls: Call[] = [];
  readonly #tools = new Map<string, { name: string; from: number; to: number | null }>();

  /** `begun` is when it was sent. */
  constructor(readonly begun: number) {}

  /** Notes an event. */
  event(event: TurnEvent, now: number): void {
    const at = now - this.begun;
    switch (event.kind) {
      case 'started':
        this.#started = at;
        this.#calls.push({ from: at, first: null, to: null });
        break;
      case 'text':
      case 'thinking':
      case 'channel':
        this.#first(at);
        break;
      case 'call': {
        this.#first(at);
        const { id, name } = event.value as { id?: string; name?: string };
        this.#tools.set(id ?? '', { name: name ?? '', from: at, to: null });
        break;
      }
      case 'result': {
        const tool = this.#tools.get((event.value as { id?: string }).id ?? '');
        if (tool) tool.to = at;
        break;
      }
      case 'node':
        this.#node(event.node.role, at);
        break;
      case 'finished':
        break;
    }
  }

  #first(at: number): void {
    const call = this.#calls.at(-1);
    if (call && call.to === null) call.first ??= at;
    else this.#calls.push({ from: at, first: at, to: null });
  }

  #node(role: string, at: number): void {
    const call = this.#calls.at(-1);
    if (role === 'assistant' && call?.to === null) {
      call.first ??= at;
      call.to = at;
      // Tools run when the whole reply is there.
      for (const tool of this.#tools.values()) if (tool.to === null) tool.from = at;
    } else if (role === 'tool') {
      this.#calls.push({ from: at, first: null, to: null });
    }
  }

  /** Returns the parts, in the order of their beginnings. `timings` are those of the calls, as the server measured them. */
  spans(timings: readonly CallTiming[]): Span[] {
    const spans: Span[] = [];
    if (this.#started !== null) spans.push({ kind: 'queue', from: 0, to: this.#started });
    const calls = this.#calls.filter((call) => call.to !== null);
    calls.forEach((call, index) => {
      const timing = timings.length === calls.length ? timings[index] : undefined;
      if (timing) spans.push(...measured(call.from, timing));
      else if (call.first !== null && call.to !== null) {
        spans.push({ kind: 'first', from: call.from, to: call.first });
        spans.push({ kind: 'decode', from: call.first, to: call.to });
      }
    });
    for (const { name, from, to } of this.#tools.values()) {
      if (to !== null) spans.push({ kind: 'tool', name, from, to });
    }
    return spans.sort((a, b) => a.from - b.from || a.to - b.to);
  }
}

/** The parts of a call that the server has measured. */
function measured(from: number, timing: CallTiming): Span[] {
  const prefill = from + 1000 * timing.waiting;
  const first = prefill + 1000 * timing.prefill;
  const decode = Math.max(first, from + 1000 * (timing.first_token ?? 0));
  return [
    { kind: 'queue', from, to: prefill },
    { kind: 'prefill', from: prefill, to: first, tokens: timing.prefill_tokens },
    { kind: 'decode', from: decode, to: decode + 1000 * timing.decode, tokens: timing.decode_tokens + 1 },
  ];
}
