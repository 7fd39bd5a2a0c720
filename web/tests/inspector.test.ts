// Tokens and their origins, likelihoods, citations, and when things happened in a turn.
import { describe, expect, it } from 'vitest';
import type { TurnEvent } from '../src/api/client';
import { de } from '../src/language/inspecting/de';
import { en } from '../src/language/inspecting/en';
import { fromText, textOf } from '../src/state/remembered';
import { TurnClock } from '../src/state/timing';
import { branchPrefix, chunkAt, chunksOf, citations, heatOf, linesOf, runsOf, visible } from '../src/text/tokens';
import { node } from './nodes';

describe('a long row of tokens', () => {
  it('is divided into chunks that have each token once', () => {
    const texts = Array.from({ length: 10_000 }, (_, at) =>
      at % 37 === 0 ? '\n' : 'word'.repeat((at % 9) * (at % 5)),
    );
    const chunks = chunksOf(texts.length, (index) => texts[index] ?? '');
    let next = 0;
    for (const { begin, end } of chunks) {
      expect(begin).toBe(next);
      expect(end - begin).toBeGreaterThan(0);
      expect(end - begin).toBeLessThanOrEqual(128);
      next = end;
    }
    expect(next).toBe(texts.length);
    for (const index of [0, 1, 4999, 9999]) {
      const chunk = chunks[chunkAt(chunks, index)]!;
      expect(index >= chunk.begin && index < chunk.end).toBe(true);
    }
    expect(chunksOf(0, () => '')).toEqual([]);
  });

  it('breaks after a line', () => {
    const chunks = chunksOf(60, (index) => (index === 29 ? 'end\n' : 'a'));
    expect(chunks).toEqual([
      { begin: 0, end: 30 },
      { begin: 30, end: 60 },
    ]);
  });

  it('has runs of one origin', () => {
    const origins = ['template', 'template', 'user', null, null, 'user'];
    expect(runsOf(origins.map((origin) => ({ origin })))).toEqual([
      { origin: 'template', begin: 0, end: 2 },
      { origin: 'user', begin: 2, end: 3 },
      { origin: null, begin: 3, end: 5 },
      { origin: 'user', begin: 5, end: 6 },
    ]);
  });
});

describe('a token', () => {
  it('is seen, whatever it is', () => {
    expect(visible({ id: 1, text: ' tea' })).toBe(' tea');
    expect(visible({ id: 1, text: '  ' })).toBe('␣␣');
    expect(visible({ id: 1, text: '\n\t' })).toBe('⏎⇥');
    expect(visible({ id: 1, text: '' })).toBe('∅');
    expect(visible({ id: 1, text: '\u001b[31m' })).toBe('');
    expect(visible({ id: 7, text: null })).toBe('#7');
    expect(visible({ id: 7, text: '\ufffd', bytes: [0xe2, 0x0a] })).toBe('E2 0A');
    expect(visible({ id: null, text: null, media: 'sha256:0' })).toBe('▣');
    expect(visible({ id: 7, text: 'x'.repeat(1000) })).toHaveLength(201);
  });

  it('is hot when it was unlikely', () => {
    expect([1, 0.9, 0.6, 0.3, 0.1, 0.02, 0.001].map((share) => heatOf(Math.log(share)))).toEqual([0, 0, 1, 2, 3, 4, 5]);
    expect(heatOf(-Infinity)).toBe(5);
  });

  it('begins a branch with exactly the ids before it', () => {
    const ids = [5, 6, 7, 8].map((id) => ({ id }));
    expect(branchPrefix(ids, 2, 99)).toEqual([5, 6, 99]);
    expect(branchPrefix(ids, 0, 99)).toEqual([99]);
  });
});

describe('texts', () => {
  it('are divided into lines without losing a sign', () => {
    const pieces = [
      { text: 'one\ntwo', origin: 'user' },
      { text: '🍵'.repeat(300), origin: 'tool' },
    ];
    const lines = linesOf(pieces, 5);
    expect(lines.map((line) => line.text).join('')).toBe(pieces.map((piece) => piece.text).join(''));
    for (const line of lines) expect(/^[\udc00-\udfff]|[\ud800-\udbff]$/.test(line.text)).toBe(false);
    expect(lines[0]).toEqual({ text: 'one\n', origin: 'user' });
  });

  it('cite by numbers in brackets', () => {
    expect([...citations('In Assam [1], or Kent [7, 1]. Not [x] or [12345].')]).toEqual([
      [1, 2],
      [7, 1],
    ]);
  });
});

describe('the time of a turn', () => {
  const added = (role: string): TurnEvent => ({ kind: 'node', node: node(role, null, { role }) });
  const events: [number, TurnEvent][] = [
    [10, { kind: 'started', model: 'tiny' }],
    [60, { kind: 'text', text: 'a' }],
    [80, { kind: 'call', value: { id: 'c', name: 'clock' } }],
    [100, added('assistant')],
    [400, { kind: 'result', value: { id: 'c' } }],
    [401, added('tool')],
    [450, { kind: 'text', text: 'b' }],
    [500, added('assistant')],
  ];

  function clock(): TurnClock {
    const made = new TurnClock(1000);
    for (const [at, event] of events) made.event(event, 1000 + at);
    return made;
  }

  it('is what the window saw', () => {
    expect(clock().spans([])).toEqual([
      { kind: 'begin', from: 0, to: 10 },
      { kind: 'first', from: 10, to: 60 },
      { kind: 'decode', from: 60, to: 100 },
      { kind: 'tool', name: 'clock', from: 100, to: 400 },
      { kind: 'first', from: 401, to: 450 },
      { kind: 'decode', from: 450, to: 500 },
    ]);
  });

  it('is what the server measured, where it says so', () => {
    const timing = {
      waiting_ms: 5,
      prefill_ms: 20,
      prefill_tokens: 9,
      first_token_ms: 30,
      decode_ms: 40,
      decode_tokens: 4,
    };
    const spans = clock().spans([timing, timing]);
    expect(spans.filter((span) => span.from < 100)).toEqual([
      // The first token was seen at 60, so the call began at 30.
      { kind: 'begin', from: 0, to: 30 },
      { kind: 'queue', from: 30, to: 35 },
      { kind: 'prefill', from: 35, to: 55, tokens: 9 },
      { kind: 'first', from: 55, to: 60 },
      { kind: 'decode', from: 60, to: 100, tokens: 5 },
    ]);
    expect(spans.filter((span) => span.from > 400)[0]).toEqual({ kind: 'queue', from: 420, to: 425 });
    // The engine may have taken longer than there was time, as the clocks of two machines differ.
    const slow = clock().spans([{ ...timing, first_token_ms: 90 }, timing]);
    expect(slow[0]).toEqual({ kind: 'queue', from: 0, to: 5 });
    // Times of another number of calls belong to none.
    expect(clock().spans([timing])).toEqual(clock().spans([]));
  });
});

describe('what a window keeps of replies', () => {
  const token = (id: number) => ({ id, text: `t${id}`, logprob: -0.5 });
  const likely = (count: number) => ({
    begun: 1,
    isSampled: true,
    tokens: Array.from({ length: count }, (_, id) => ({ ...token(id), top_logprobs: [token(id), token(id + 1)] })),
  });

  it('is read as it was written', () => {
    const broken = { ...token(3), text: '�', bytes: [195] };
    const all = {
      likely: new Map([
        ['a', likely(3)],
        ['b', { begun: 0, isSampled: false, tokens: [token(1), broken] }],
      ]),
      spans: new Map([['a', clockless]]),
    };
    expect(fromText(textOf(all))).toEqual(all);
  });

  it('has the newest where there are too many', () => {
    const all = { likely: new Map(['a', 'b', 'c'].map((node) => [node, likely(9000)])), spans: new Map() };
    const text = textOf(all);
    expect(text.length).toBeLessThan(1_600_000);
    expect([...fromText(text).likely.keys()]).toEqual(['b', 'c']);
  });

  it('is nothing where it is damaged or of another version', () => {
    for (const text of [
      null,
      '',
      '{',
      '[]',
      '7',
      '{"version":2,"replies":[{"node":"a","spans":[]}]}',
      '{"version":1,"replies":[7]}',
    ])
      expect(fromText(text).spans.size).toBe(0);
  });
});

const clockless = [{ kind: 'decode' as const, from: 0, to: 5, tokens: 2 }];

describe('the words of the panels', () => {
  it('are the same in both languages', () => {
    expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort());
    for (const [key, word] of Object.entries(de)) expect(typeof word).toBe(typeof en[key as keyof typeof en]);
    for (const name of ['max_tokens_capped', 'grammar_cut', 'drafts_stopped']) {
      expect(de.warning(name, () => '1')).not.toBe('');
      expect(en.warning(name, () => '1')).not.toBe('');
    }
  });
});
