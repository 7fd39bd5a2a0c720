// Words that differ, forks, runs and their places.
import { describe, expect, it } from 'vitest';
import { answerFrom, forkAt, forksOf, isCut, leavesOf } from '../src/tree/forks';
import { CARD, layOut } from '../src/tree/layout';
import { runsOf } from '../src/tree/runs';
import { Tree } from '../src/tree/tree';
import { compareWords, wordsOf } from '../src/tree/words';
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
