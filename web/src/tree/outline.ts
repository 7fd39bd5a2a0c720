// A tree as rows. Messages that simply follow each other are on one level: only alternatives, and what follows one of
// them, are a level deeper. A conversation of 5,000 messages on one line is then not 5,000 levels deep.
import type { Tree } from './tree';

export interface Row {
  id: string;
  level: number;
  /** The row that it is folded under. */
  under: string | null;
  /** Whether rows can be folded under it. */
  isFork: boolean;
  isFolded: boolean;
  /** Which of the alternatives it is, from 1; 0 if there is no other. */
  alternative: number;
  alternatives: number;
  /** Its place among the rows of its level under the same row, from 1, and how many there are. */
  place: number;
  places: number;
}

interface Waiting {
  id: string;
  level: number;
  under: string | null;
  alternative: number;
  alternatives: number;
}

/** The rows from `root` on, without those under folded rows. `null` has all. */
export function outline(tree: Tree, folded: ReadonlySet<string>, root: string | null = null): Row[] {
  const rows: Row[] = [];
  const counts = new Map<string | null, number>();
  const waiting: Waiting[] = [];
  if (root === null) push(waiting, tree, null, 0, null);
  else if (tree.get(root)) waiting.push({ id: root, level: 0, under: null, alternative: 0, alternatives: 1 });
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { id, level, under, alternative, alternatives } = next;
    const children = tree.children(id);
    const isFork = children.length > 1 || (alternative > 0 && children.length > 0);
    const isFolded = isFork && folded.has(id);
    const place = (counts.get(under) ?? 0) + 1;
    counts.set(under, place);
    rows.push({ id, level, under, isFork, isFolded, alternative, alternatives, place, places: 0 });
    if (isFolded) continue;
    push(waiting, tree, id, isFork ? level + 1 : level, isFork ? id : under);
  }
  for (const row of rows) row.places = counts.get(row.under) ?? 1;
  return rows;
}

/** Adds the children of a node, so that the first one is taken first. */
function push(waiting: Waiting[], tree: Tree, parent: string | null, level: number, under: string | null): void {
  const children = tree.children(parent);
  for (let at = children.length - 1; at >= 0; at -= 1) {
    const id = children[at];
    if (id === undefined) continue;
    const alternative = children.length > 1 ? at + 1 : 0;
    waiting.push({ id, level, under, alternative, alternatives: children.length });
  }
}

/** The folded rows that have to be unfolded so that a node has a row. */
export function foldsOver(tree: Tree, folded: ReadonlySet<string>, id: string): string[] {
  const over: string[] = [];
  let at = tree.get(id)?.parent ?? null;
  while (at !== null) {
    if (folded.has(at)) over.push(at);
    at = tree.get(at)?.parent ?? null;
  }
  return over;
}
