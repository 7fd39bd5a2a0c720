// Paths through a tree, and the branch that is taken where several follow.
import type { Tree } from './tree';

/** The nodes from the first message to a node. */
export function pathTo(tree: Tree, id: string | null): string[] {
  const path: string[] = [];
  let at = id;
  while (at !== null) {
    const node = tree.get(at);
    if (!node) break;
    path.push(at);
    at = node.parent;
  }
  return path.reverse();
}

/** Which child of each node was shown last. */
export type Remembered = Map<string | null, string>;

/** Remembers the children on the path to a node. */
export function remember(tree: Tree, remembered: Remembered, id: string | null): void {
  let at = tree.get(id);
  while (at) {
    remembered.set(at.parent, at.id);
    at = tree.get(at.parent);
  }
}

/** The last node of the branch through `id`: at each fork the child that was shown last, or else the newest. */
export function leafBelow(tree: Tree, id: string | null, remembered: Remembered): string | null {
  let at = id;
  for (;;) {
    const children = tree.children(at);
    const wanted = remembered.get(at);
    const next = wanted !== undefined && children.includes(wanted) ? wanted : children[children.length - 1];
    if (next === undefined) return at;
    at = next;
  }
}

/** Whether `ancestor` is on the path to `id`, or is `id`. */
export function isOnPath(tree: Tree, ancestor: string | null, id: string | null): boolean {
  if (ancestor === null) return true;
  let at = id;
  while (at !== null) {
    if (at === ancestor) return true;
    at = tree.get(at)?.parent ?? null;
  }
  return false;
}
