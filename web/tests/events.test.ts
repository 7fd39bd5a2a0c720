// Server-sent events: read from pieces, and followed over lost connections.
import { describe, expect, it, vi } from 'vitest';
import { delay, EventReader, follow, type ServerEvent } from '../src/api/events';

const STREAM =
  ': waiting\n\nid: 1\nevent: node.added\ndata: {"a":\ndata: 1}\n\r\nevent: head.moved\r\ndata:x\r\n\r\ndata: ä\n\n';
const EVENTS: ServerEvent[] = [
  { name: 'node.added', id: '1', data: '{"a":\n1}' },
  { name: 'head.moved', id: '1', data: 'x' },
  { name: 'message', id: '1', data: 'ä' },
];

describe('a reader of events', () => {
  it('reads the same from pieces of any length', () => {
    for (let length = 1; length <= STREAM.length; length += 1) {
      const reader = new EventReader();
      const events: ServerEvent[] = [];
      for (let at = 0; at < STREAM.length; at += length) events.push(...reader.push(STREAM.slice(at, at + length)));
      expect(events).toEqual(EVENTS);
    }
  });

  it('waits longer after each failure, and never for more than 15 seconds', () => {
    expect(delay(0, 1)).toBe(500);
    expect(delay(3, 1)).toBe(4000);
    expect(delay(30, 1)).toBe(15_000);
    expect(delay(0, 0)).toBe(250);
  });
});

function streamed(text: string): Response {
  return new Response(new Blob([text]).stream());
}

describe('a stream that is followed', () => {
  it('is opened again after the last event that was seen', async () => {
    vi.useFakeTimers();
    const abort = new AbortController();
    const opened: (string | null)[] = [];
    const seen: string[] = [];
    const following = follow({
      open: (last) => {
        opened.push(last);
        if (opened.length === 2) return Promise.reject(new Error('no connection'));
        return Promise.resolve(streamed(`id: ${opened.length}\ndata: event ${opened.length}\n\n`));
      },
      event: (event) => {
        seen.push(event.data);
        if (seen.length === 2) abort.abort();
      },
      isFinal: () => false,
      signal: abort.signal,
    });
    await vi.runAllTimersAsync();
    await following;
    vi.useRealTimers();
    expect(opened).toEqual([null, '1', '1']);
    expect(seen).toEqual(['event 1', 'event 3']);
  });

  it('ends at an error that is final', async () => {
    let count = 0;
    await follow({
      open: () => {
        count += 1;
        return Promise.reject(new Error('gone'));
      },
      event: () => undefined,
      isFinal: () => true,
      signal: new AbortController().signal,
    });
    expect(count).toBe(1);
  });
});
