// Other messages in the place of a message.
import type { Tree } from './tree';

export interface Siblings {
  ids: readonly string[];
  /** Which one it is, from 0. */
  index: number;
}

export function siblingsOf(tree: Tree, id: string): Siblings {
  const node = tree.get(id);
  const ids = node ? tree.children(node.parent) : [id];
  return { ids, index: Math.max(0, ids.indexOf(id)) };
}

/** The sibling `step` places further, if there is one. */
export function siblingAt(tree: Tree, id: string, step: number): string | null {
  const { ids, index } = siblingsOf(tree, id);
  return ids[index + step] ?? null;
}

/** The nearest node of a path, from its end, that has siblings. */
export function nearestFork(tree: Tree, path: readonly string[]): string | null {
  for (let at = path.length - 1; at >= 0; at -= 1) {
    const id = path[at];
    if (id !== undefined && siblingsOf(tree, id).ids.length > 1) return id;
  }
  return null;
}
