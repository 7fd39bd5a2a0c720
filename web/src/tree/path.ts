// Paths through a tree, and the branch that is taken where several follow.
import type { Node } from '../api/types';
import type { Tree } from './tree';

/** The line to a node: the nodes from the first message to it. */
export class PathLine {
  #tree: Tree | null = null;
  #changes = 0;
  #nodes: readonly Node[] = [];

  /**
   * Reads the line. What has not changed is not read again: the same line is the same array, and one that has grown by a node is a copy.
   */
  to(tree: Tree, id: string | null): readonly Node[] {
    const isKnown = tree === this.#tree && tree.changes === this.#changes;
    const last = this.#nodes.at(-1)?.id ?? null;
    const node = tree.get(id);
    if (isKnown && last === id) return this.#nodes;
    this.#nodes = isKnown && node && node.parent === last ? [...this.#nodes, node] : nodesTo(tree, id);
    this.#tree = tree;
    this.#changes = tree.changes;
    return this.#nodes;
  }
}

function nodesTo(tree: Tree, id: string | null): Node[] {
  const nodes: Node[] = [];
  let node = tree.get(id);
  while (node) {
    nodes.push(node);
    node = tree.get(node.parent);
  }
  return nodes.reverse();
}

/** Which child of each node was shown last. */
export type Remembered = Map<string | null, string>;

/** Remembers the children on the path to a node, after `known`: a node whose path is remembered already. */
export function remember(tree: Tree, remembered: Remembered, id: string | null, known: string | null = null): void {
  let at = tree.get(id);
  while (at && at.id !== known) {
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
