// The tree: what events change in it, its paths, versions and rows.
import { describe, expect, it } from 'vitest';
import { foldsOver, outline } from '../src/tree/outline';
import { isOnPath, leafBelow, PathLine, remember } from '../src/tree/path';
import { nearestFork, siblingAt, siblingsOf } from '../src/tree/siblings';
import { Tree } from '../src/tree/tree';
import { node } from './nodes';

/** q ─ a1 ─ q2 ─ b, and q ─ a2. */
function small(): Tree {
  const nodes = [node('q', null), node('r1', 'q'), node('s', 'r1'), node('t', 's'), node('r2', 'q')];
  return Tree.of(nodes, 't');
}

describe('a tree', () => {
  it('has the same children whatever the order of the events', () => {
    const tree = new Tree();
    for (const id of ['c', 'a', 'b']) tree.put(node(id, null));
    expect(tree.children(null)).toEqual(['a', 'b', 'c']);
  });

  it('keeps notes when a node comes again without them', () => {
    const tree = small();
    tree.note({ r1: 'green' }, { best: 'r1' });
    tree.put(node('r1', 'q'));
    expect(tree.get('r1')).toMatchObject({ label: 'green', bookmarks: ['best'] });
    tree.note({}, {});
    expect(tree.get('r1')).toMatchObject({ label: null, bookmarks: [] });
  });

  it('removes nodes, and knows what is below one', () => {
    const tree = small();
    expect(tree.below('r1')).toEqual(['r1', 's', 't']);
    tree.remove(tree.below('r1'));
    expect(tree.size).toBe(2);
    expect(tree.children('q')).toEqual(['r2']);
    expect(tree.head).toBeNull();
  });
});

describe('paths', () => {
  it('go from the first message to a node', () => {
    expect(new PathLine().to(small(), 't').map((node) => node.id)).toEqual(['q', 'r1', 's', 't']);
    expect(new PathLine().to(small(), null)).toEqual([]);
    expect(isOnPath(small(), 'r1', 't')).toBe(true);
    expect(isOnPath(small(), 'r2', 't')).toBe(false);
    expect(isOnPath(small(), null, null)).toBe(true);
  });

  it('are remembered from a node on whose path is remembered', () => {
    const tree = small();
    const remembered = new Map<string | null, string>();
    remember(tree, remembered, 't', 's');
    expect([...remembered]).toEqual([['s', 't']]);
  });

  it('are read again only where the tree has changed', () => {
    const tree = small();
    const line = new PathLine();
    const ids = (id: string | null) => line.to(tree, id).map((node) => node.id);
    expect(ids(null)).toEqual([]);
    expect(ids('s')).toEqual(['q', 'r1', 's']);
    const before = line.to(tree, 's');
    tree.put(node('u', 'q'));
    expect(line.to(tree, 's')).toBe(before);
    expect(ids('t')).toEqual(['q', 'r1', 's', 't']);
    tree.put(node('v', 't'));
    expect(ids('v')).toEqual(['q', 'r1', 's', 't', 'v']);
    tree.put({ ...node('r1', 'q'), text: 'other' });
    expect(line.to(tree, 'v')[1]?.text).toBe('other');
    tree.note({ q: 'label' }, {});
    expect(line.to(tree, 'v')[0]?.label).toBe('label');
    expect(ids('u')).toEqual(['q', 'u']);
    tree.remove(['r1']);
    expect(ids('v')).toEqual(['s', 't', 'v']);
    tree.put(node('r1', 'q'));
    expect(ids('v')).toEqual(['q', 'r1', 's', 't', 'v']);
    tree.remove(['v']);
    expect(ids('v')).toEqual([]);
  });

  it('stay as they are where a node comes twice', () => {
    const tree = small();
    const line = new PathLine();
    const before = line.to(tree, 't');
    tree.put(node('t', 's'));
    expect(line.to(tree, 't')).toBe(before);
  });

  it('return to the child that was shown last, or else to the newest', () => {
    const tree = small();
    const remembered = new Map<string | null, string>();
    expect(leafBelow(tree, 'q', remembered)).toBe('r2');
    remember(tree, remembered, 't');
    expect(leafBelow(tree, 'q', remembered)).toBe('t');
    tree.remove(['r1', 's', 't']);
    expect(leafBelow(tree, 'q', remembered)).toBe('r2');
  });
});

describe('versions', () => {
  it('are counted from the oldest', () => {
    const tree = small();
    expect(siblingsOf(tree, 'r2')).toEqual({ ids: ['r1', 'r2'], index: 1 });
    expect(siblingAt(tree, 'r1', 1)).toBe('r2');
    expect(siblingAt(tree, 'r1', -1)).toBeNull();
    expect(nearestFork(tree, ['q', 'r1', 's', 't'])).toBe('r1');
    expect(nearestFork(tree, ['q'])).toBeNull();
  });
});

describe('an outline', () => {
  it('is deeper only below alternatives', () => {
    const rows = outline(small(), new Set());
    expect(rows.map((row) => [row.id, row.level])).toEqual([
      ['q', 0],
      ['r1', 1],
      ['s', 2],
      ['t', 2],
      ['r2', 1],
    ]);
    expect(rows.map((row) => [row.place, row.places])).toEqual([
      [1, 1],
      [1, 2],
      [1, 2],
      [2, 2],
      [2, 2],
    ]);
    expect(rows[1]).toMatchObject({ alternative: 1, alternatives: 2, isFork: true, under: 'q' });
    expect(rows[4]).toMatchObject({ isFork: false });
  });

  it('has no rows under a folded one', () => {
    const tree = small();
    expect(outline(tree, new Set(['r1'])).map((row) => row.id)).toEqual(['q', 'r1', 'r2']);
    expect(outline(tree, new Set(['q'])).map((row) => row.id)).toEqual(['q']);
    expect(foldsOver(tree, new Set(['q', 'r2']), 't')).toEqual(['q']);
    expect(outline(tree, new Set(), 'r1').map((row) => row.id)).toEqual(['r1', 's', 't']);
  });

  it('of one line of 5,000 messages is flat', () => {
    const tree = new Tree();
    for (let at = 0; at < 5000; at += 1) {
      const parent = at === 0 ? null : String(at - 1).padStart(5, '0');
      tree.put(node(String(at).padStart(5, '0'), parent));
    }
    const rows = outline(tree, new Set());
    expect(rows.length).toBe(5000);
    expect(Math.max(...rows.map((row) => row.level))).toBe(0);
  });
});
