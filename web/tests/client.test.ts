// The client: its requests, and what becomes of errors.
import { describe, expect, it } from 'vitest';
import { ApiError, Client, sentence, turnEvent } from '../src/api/client';

function clientOf(answer: (url: string, init: RequestInit) => Response, key: string | null = null) {
  const requests: { url: string; init: RequestInit }[] = [];
  let refusals = 0;
  const client = new Client({
    base: 'http://server/base/',
    key: () => key,
    refused: () => {
      refusals += 1;
    },
    fetch: (url, init) => {
      const address = url instanceof URL ? url.href : '';
      requests.push({ url: address, init: init ?? {} });
      return Promise.resolve(answer(address, init ?? {}));
    },
  });
  return { client, requests, refusals: () => refusals };
}

describe('the client', () => {
  it('sends the key, and keeps the path of the page', async () => {
    const { client, requests } = clientOf(() => Response.json({ data: [], has_more: false }), 'alq_1');
    await client.conversations('conv_a/b');
    expect(requests[0]?.url).toBe('http://server/base/v1/alloquy/conversations?limit=100&after=conv_a%2Fb');
    expect(requests[0]?.init.headers).toMatchObject({ authorization: 'Bearer alq_1' });
  });

  it('moves the head only from where it is', async () => {
    const { client, requests } = clientOf(() => Response.json({ head: 'b' }));
    await client.moveHead('conv_x', 'a', 'b');
    await client.moveHead('conv_x', null, 'b');
    expect(requests.map(({ init }) => new Headers(init.headers).get('if-match'))).toEqual(['"a"', '"root"']);
  });

  it('turns errors into sentences', async () => {
    const error = { error: { message: 'the head is elsewhere', code: 'head_moved' } };
    const { client } = clientOf(() => Response.json(error, { status: 412 }));
    const failed = await client.conversation('conv_x').catch((reason: unknown) => reason);
    expect(failed).toMatchObject({ status: 412, code: 'head_moved', message: 'the head is elsewhere' });
    expect(sentence(400, '{"error": "of Ollama"}').message).toBe('of Ollama');
    expect(sentence(502, '<html>').message).toContain('502');
  });

  it('reports that a key is wanted, and a server that does not answer', async () => {
    const refusing = clientOf(() => new Response('{}', { status: 401 }));
    await expect(refusing.client.models()).rejects.toBeInstanceOf(ApiError);
    expect(refusing.refusals()).toBe(1);
    const { client } = clientOf(() => {
      throw new TypeError('connection refused');
    });
    await expect(client.models()).rejects.toMatchObject({ status: 0, isUnreachable: true });
  });

  it('reads a turn', async () => {
    const stream = [
      'event: turn.started\ndata: {"conversation":"c","model":"m"}\n\n',
      'event: turn.text\ndata: {"text":"Hel"}\n\n',
      'event: turn.new_kind\ndata: {}\n\n',
      'event: turn.text\ndata: {"text":"lo"}\n\n',
    ].join('');
    const { client, requests } = clientOf(() => new Response(stream));
    const events = [];
    for await (const event of client.turn('c', { text: 'Hi', node: '' }, new AbortController().signal))
      events.push(event);
    expect(events.map((event) => event.kind)).toEqual(['started', 'text', 'text']);
    expect(JSON.parse(requests[0]?.init.body as string)).toEqual({ text: 'Hi', node: '', stream: true });
    expect(() => turnEvent({ name: 'error', id: null, data: '{"error":{"message":"no memory"}}' })).toThrow(
      'no memory',
    );
  });
});
