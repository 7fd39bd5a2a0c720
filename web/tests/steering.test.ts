// Words that differ, forks, runs and their places.
import { describe, expect, it } from 'vitest';
import { readPlans } from '../src/state/answers';
import { messageOf, renamed } from '../src/state/removed';
import { answerFrom, forkAt, forksOf, isCut, leavesOf } from '../src/tree/forks';
import { CARD, layOut } from '../src/tree/layout';
import { runsOf } from '../src/tree/runs';
import { Tree } from '../src/tree/tree';
import { compareWords, wordsOf } from '../src/tree/words';
import { fitted, seen, showing, zoomed } from '../src/view/graph/camera';
import { draw } from '../src/view/graph/drawing';
import { node } from './nodes';

/** A small generator, so that a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('texts compared by word', () => {
  it('have the words that were removed and added', () => {
    const { pieces, isCoarse } = compareWords('The water is hot, and fresh.', 'The water is cold, and very fresh.');
    expect(isCoarse).toBe(false);
    expect(pieces).toEqual([
      { change: 'same', text: 'The water is ' },
      { change: 'removed', text: 'hot' },
      { change: 'added', text: 'cold' },
      { change: 'same', text: ', and' },
      { change: 'added', text: ' very' },
      { change: 'same', text: ' fresh.' },
    ]);
  });

  it('that were replaced as a phrase are one', () => {
    expect(compareWords('Only black tea.', 'Milk goes first.').pieces).toEqual([
      { change: 'removed', text: 'Only black tea' },
      { change: 'added', text: 'Milk goes first' },
      { change: 'same', text: '.' },
    ]);
  });

  it('are both there, whatever they are', () => {
    const next = random(7);
    const text = () => Array.from({ length: Math.floor(next() * 30) }, () => 'abc de'[Math.floor(next() * 6)]).join('');
    for (let at = 0; at < 500; at += 1) {
      const left = text();
      const right = text();
      const { pieces } = compareWords(left, right);
      const side = (change: string) => pieces.filter((piece) => piece.change !== change).map((piece) => piece.text);
      expect(side('added').join('')).toBe(left);
      expect(side('removed').join('')).toBe(right);
      for (const [index, piece] of pieces.entries()) expect(piece.change).not.toBe(pieces[index + 1]?.change);
    }
  });

  it('that are very long and share nothing are one piece each', () => {
    const left = Array.from({ length: 5000 }, (_, at) => `a${at}`).join(' ');
    const right = Array.from({ length: 5000 }, (_, at) => `b${at}`).join(' ');
    const { pieces, isCoarse } = compareWords(`Same ${left}`, `Same ${right}`);
    expect(isCoarse).toBe(true);
    expect(pieces[0]?.change).toBe('same');
    expect(pieces.map((piece) => piece.change)).toContain('removed');
    expect(wordsOf(left).join('')).toBe(left);
  });
});

// a ─ b ─ c ─ d
//       └ e ─ f (user)
const small = () =>
  Tree.of(
    [
      node('a', null),
      node('b', 'a', { role: 'assistant' }),
      node('c', 'b'),
      node('d', 'c', { role: 'assistant' }),
      node('e', 'b', { role: 'assistant' }),
      node('f', 'e'),
    ],
    'd',
  );

describe('forks', () => {
  it('are found along the line', () => {
    const tree = small();
    const line = ['a', 'b', 'c', 'd'].map((id) => tree.get(id)!);
    expect(forksOf(tree, line)).toEqual(['c']);
    expect(forkAt(tree, line, null, -1)).toBe('c');
    expect(forkAt(tree, line, 'c', -1)).toBeNull();
    expect(forkAt(tree, line, 'a', 1)).toBe('c');
    expect(leavesOf(tree)).toEqual(['f', 'd']);
    expect(answerFrom(tree, 'e').map((entry) => entry.id)).toEqual(['e']);
  });

  it('a reply that was cut can be continued', () => {
    expect(isCut(node('a', null, { role: 'assistant', status: 'interrupted' }))).toBe(true);
    expect(isCut(node('a', null, { role: 'assistant', reply: { model: 'm', finish: 'length' } }))).toBe(true);
    expect(isCut(node('a', null, { role: 'assistant', reply: { model: 'm', finish: 'stop' } }))).toBe(false);
    expect(isCut(node('a', null, { status: 'interrupted' }))).toBe(false);
  });
});

describe('a picture of the tree', () => {
  it('has a part for each run', () => {
    const top = runsOf(small(), null);
    expect(top?.nodes).toEqual(['a', 'b']);
    expect(top?.children.map((run) => run.nodes)).toEqual([
      ['c', 'd'],
      ['e', 'f'],
    ]);
    expect(runsOf(small(), 'e')?.nodes).toEqual(['e', 'f']);
    expect(runsOf(small(), 'nothing')).toBeNull();
    expect(runsOf(new Tree(), null)).toBeNull();
  });

  it('has no two parts at one place', () => {
    const next = random(3);
    const tree = new Tree();
    for (let at = 0; at < 400; at += 1) {
      const parent = at === 0 ? null : String(Math.floor(next() * at)).padStart(4, '0');
      tree.put(node(String(at).padStart(4, '0'), parent));
    }
    const top = runsOf(tree, null);
    const { runs } = layOut(top!);
    expect(runs.reduce((sum, placed) => sum + placed.run.nodes.length, 0)).toBe(400);
    const found: string[] = [];
    for (const one of runs) {
      for (const other of runs) {
        if (one === other) continue;
        const isAside = Math.abs(one.x - other.x) >= CARD.width - 0.01;
        const isBelow = one.y >= other.y + other.height || other.y >= one.y + one.height;
        if (!isAside && !isBelow) found.push(`${one.run.key} ${other.run.key}`);
      }
    }
    expect(found).toEqual([]);
  });

  it('may have a fork at each of thousands of levels', () => {
    const tree = new Tree();
    let parent: string | null = null;
    for (let at = 0; at < 5000; at += 1) {
      const id = String(at).padStart(5, '0');
      tree.put(node(id, parent));
      tree.put(node(`${id}x`, parent));
      parent = id;
    }
    const { runs, bottom } = layOut(runsOf(tree, null)!);
    expect(runs).toHaveLength(10_001);
    expect(bottom).toBeGreaterThan(4999 * CARD.height);
  });
});

describe('what is sent again', () => {
  it('is the message as it was, or nothing where it cannot be', () => {
    expect(messageOf(node('a', null))).toEqual({ role: 'user', content: 'a' });
    const call = { id: 'c', name: 'f', arguments: { x: 1 } };
    expect(messageOf(node('b', 'a', { role: 'assistant', parts: [{ tool_call: call }] }))).toEqual({
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
    });
    const result = { id: 'c', name: 'f', content: 'y' };
    expect(messageOf(node('c', 'b', { role: 'tool', parts: [{ tool_result: result }] }))).toEqual({
      role: 'tool',
      tool_call_id: 'c',
      content: 'y',
    });
    expect(messageOf(node('d', null, { parts: [{ image: {} }] }))).toBeNull();
  });
});

describe('an export', () => {
  it('has another name, so that it replaces nothing', () => {
    expect(renamed('{"record":{"id":"tea","head":null},"nodes":[]}', 'x')).toBe(
      '{"record":{"id":"tea-x","head":null},"nodes":[]}',
    );
  });
});

describe('plans of answers', () => {
  it('are usual where they are damaged', () => {
    const usual = { model: null, sampling: {} };
    expect(readPlans('{')).toEqual([usual, usual]);
    expect(readPlans('[{"model":"m","sampling":{"temperature":0.5,"seed":"x"}},7,{}]')).toEqual([
      { model: 'm', sampling: { temperature: 0.5 } },
      usual,
    ]);
    expect(readPlans(JSON.stringify(Array.from({ length: 12 }, () => usual)))).toHaveLength(8);
  });
});

describe('a picture that is looked at', () => {
  const size = { width: 1000, height: 500 };

  it('keeps the point under the pointer when it is zoomed', () => {
    const before = { x: 10, y: 20, scale: 0.5 };
    const after = zoomed(before, 2, { x: 300, y: 100 });
    expect(after.x + 300 / after.scale).toBeCloseTo(before.x + 300 / before.scale);
    expect(after.y + 100 / after.scale).toBeCloseTo(before.y + 100 / before.scale);
  });

  it('is seen as a whole, and moves no further than is needed', () => {
    const bounds = { left: -4000, right: 4000, top: 0, bottom: 900 };
    const window = seen(fitted(bounds, size), size);
    expect(window.left).toBeLessThan(bounds.left);
    expect(window.right).toBeGreaterThan(bounds.right);
    expect(window.bottom).toBeGreaterThan(bounds.bottom);
    const camera = { x: 0, y: 0, scale: 1 };
    expect(showing(camera, { left: 100, right: 200, top: 100, bottom: 150 }, size)).toEqual(camera);
    expect(showing(camera, { left: 1100, right: 1200, top: 100, bottom: 150 }, size).x).toBe(224);
  });

  it('draws only what is seen, and one for all where they are too near', () => {
    const tree = new Tree();
    tree.put(node('a', null));
    for (let at = 0; at < 10_000; at += 1) tree.put(node(`b${String(at).padStart(5, '0')}`, 'a'));
    const layout = layOut(runsOf(tree, null)!);
    const near = { x: layout.byKey.get('b05000')!.x - 500, y: 0, scale: 1 };
    const close = draw(layout, seen(near, size), 1, new Set());
    expect(close.cards.length).toBeGreaterThan(2);
    expect(close.cards.length).toBeLessThan(12);
    const far = fitted({ left: layout.left, right: layout.right, top: 0, bottom: layout.bottom }, size);
    const whole = draw(layout, seen(far, size), far.scale, new Set());
    expect(whole.cards).toHaveLength(0);
    expect(whole.bars.length).toBeLessThan(600);
    expect(whole.bars.length).toBeGreaterThan(100);
  });
});
