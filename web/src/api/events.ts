// Server-sent events, read by fetch: `EventSource` sends no headers, and so no key.

import { watchAttention } from './attention';

export interface ServerEvent {
  name: string;
  /** The id of the last event that had one. */
  id: string | null;
  data: string;
}

/** Splits a stream of text into events. Give it pieces of any length. */
export class EventReader {
  #rest = '';
  #name = '';
  #data: string[] = [];
  #id: string | null = null;

  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.#rest += piece;
    let begin = 0;
    for (;;) {
      const end = this.#rest.indexOf('\n', begin);
      if (end < 0) break;
      const last = end > begin && this.#rest[end - 1] === '\r' ? end - 1 : end;
      const event = this.#line(this.#rest.slice(begin, last));
      if (event) events.push(event);
      begin = end + 1;
    }
    this.#rest = this.#rest.slice(begin);
    return events;
  }

  #line(line: string): ServerEvent | null {
    if (line === '') {
      if (this.#data.length === 0) {
        this.#name = '';
        return null;
      }
      const event = { name: this.#name || 'message', id: this.#id, data: this.#data.join('\n') };
      this.#name = '';
      this.#data = [];
      return event;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'event') this.#name = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return null;
  }
}

/** Reads the events of a response until it ends. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const events = new EventReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* events.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // The rest is not wanted; the connection may be gone already.
    await reader.cancel().catch(() => undefined);
  }
}

export interface Following {
  /** Opens the stream after the event with this id. */
  open: (last: string | null, signal: AbortSignal) => Promise<Response>;
  event: (event: ServerEvent) => void;
  /** Whether the stream is open; with `false`, when it is tried again is up to [`delay`]. */
  connected?: (is: boolean) => void;
  /** Whether an error ends it for good. */
  isFinal: (error: unknown) => boolean;
  signal: AbortSignal;
}

/** Returns after how many milliseconds attempt number `attempt` is made: 0.5 s at first, at most 15 s, never all at once. */
export function delay(attempt: number, random: number): number {
  const longest = Math.min(500 * 2 ** attempt, 15_000);
  return longest * (0.5 + random / 2);
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    const now = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', now, { once: true });
    if (typeof window !== 'undefined') window.addEventListener('online', now, { once: true });
  });
}

/** Whether it was aborted meanwhile, which the compiler cannot know. */
function hasEnded(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** Follows a stream of events, and opens it again where it was lost, after the last event that was seen. */
export async function follow(following: Following): Promise<void> {
  const { signal } = following;
  let last: string | null = null;
  let attempt = 0;
  const attention = new Attention(signal);
  while (!hasEnded(signal)) {
    await attention.seen();
    if (hasEnded(signal)) break;
    const connection = attention.connection();
    try {
      const response = await following.open(last, connection);
      following.connected?.(true);
      if (response.body) {
        for await (const event of eventsOf(response.body)) {
          attempt = 0;
          last = event.id ?? last;
          following.event(event);
        }
      }
    } catch (error) {
      if (hasEnded(signal) || (!connection.aborted && following.isFinal(error))) break;
    }
    if (connection.aborted) continue;
    following.connected?.(false);
    await wait(delay(attempt, Math.random()), signal);
    attempt += 1;
  }
  attention.end();
}

/** Ends a stream while the page is not looked at. */
class Attention {
  readonly #signal: AbortSignal;
  readonly #unwatch: () => void;
  #isSeen = true;
  #present = new AbortController();
  #waiting: (() => void)[] = [];

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.#unwatch = watchAttention((isSeen) => {
      this.#isSeen = isSeen;
      if (isSeen) this.#resume();
      else this.#present.abort();
    });
    signal.addEventListener('abort', () => {
      this.#present.abort();
      this.#resume();
    });
  }

  #resume(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting = [];
  }

  /** Waits until the page is seen, or the stream is not wanted any more. */
  seen(): Promise<void> {
    if (this.#isSeen || this.#signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The signal of the next connection. */
  connection(): AbortSignal {
    this.#present = new AbortController();
    if (this.#signal.aborted) this.#present.abort();
    return this.#present.signal;
  }

  end(): void {
    this.#unwatch();
  }
}
