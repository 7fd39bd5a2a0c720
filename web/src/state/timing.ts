// When things happened in a turn, as far as this window saw them and the server reports them.
import type { TurnEvent } from '../api/client';
import type { CallTiming } from '../api/inspecting';

export type SpanKind = 'begin' | 'queue' | 'first' | 'prefill' | 'decode' | 'tool';

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

  /** Returns the parts, in the order of their beginnings. `timings` are those of the calls, as the engine measured them. */
  spans(timings: readonly CallTiming[]): Span[] {
    const spans: Span[] = [];
    const calls = this.#calls.filter((call) => call.to !== null);
    const isMeasured = calls.length > 0 && timings.length === calls.length;
    if (this.#started !== null && !isMeasured) spans.push({ kind: 'begin', from: 0, to: this.#started });
    calls.forEach((call, index) => {
      const timing = isMeasured ? timings[index] : undefined;
      if (timing) {
        // A stream begins with its first token, so the first call began before it.
        const from = begun(call, timing, index === 0 ? 0 : call.from);
        if (index === 0 && from > 0) spans.push({ kind: 'begin', from: 0, to: from });
        spans.push(...measured(from, timing));
      } else if (call.first !== null && call.to !== null) {
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

/** Returns when a call began: as long before its first token was seen as the engine says, and not before `earliest`. */
function begun({ from, first }: Call, timing: CallTiming, earliest: number): number {
  if (first === null || timing.first_token_ms === null) return from;
  return Math.max(earliest, first - timing.first_token_ms);
}

/** The parts of a call that the engine has measured. */
function measured(from: number, timing: CallTiming): Span[] {
  const prefill = from + timing.waiting_ms;
  const first = prefill + timing.prefill_ms;
  const decode = Math.max(first, from + (timing.first_token_ms ?? 0));
  const spans: Span[] = [
    { kind: 'queue', from, to: prefill },
    { kind: 'prefill', from: prefill, to: first, tokens: timing.prefill_tokens },
  ];
  if (timing.first_token_ms === null) return spans;
  // Choosing the first token, and what was computed for others meanwhile.
  if (decode > first) spans.push({ kind: 'first', from: first, to: decode });
  spans.push({ kind: 'decode', from: decode, to: decode + timing.decode_ms, tokens: timing.decode_tokens + 1 });
  return spans;
}
