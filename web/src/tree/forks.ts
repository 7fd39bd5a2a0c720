// Forks of a line, branches of a tree, and what is said of them.
import type { Node } from '../api/types';
import type { Tree } from './tree';

/** The nodes of a line that have other versions. */
export function forksOf(tree: Tree, line: readonly Node[]): string[] {
  return line.filter((node) => tree.children(node.parent).length > 1).map((node) => node.id);
}

/** The fork `step` places from a node of the line; from its end if the node is not on it. */
export function forkAt(tree: Tree, line: readonly Node[], from: string | null, step: number): string | null {
  const at = line.findIndex((node) => node.id === from);
  const begin = at < 0 ? line.length : at;
  for (let index = begin + step; index >= 0 && index < line.length; index += step) {
    const node = line[index];
    if (node && tree.children(node.parent).length > 1) return node.id;
  }
  return null;
}

/** The last nodes of all branches below a node, the newest first. */
export function leavesOf(tree: Tree, root: string | null = null): string[] {
  const leaves: string[] = [];
  const waiting = root === null ? [...tree.children(null)] : [root];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const children = tree.children(next);
    if (children.length === 0) leaves.push(next);
    else waiting.push(...children);
  }
  return leaves.sort((a, b) => (a < b ? 1 : -1));
}

/** The messages of one answer: a child of a question with what follows it, up to the next question. */
export function answerFrom(tree: Tree, first: string): Node[] {
  const nodes: Node[] = [];
  let at: string | undefined = first;
  while (at !== undefined) {
    const node = tree.get(at);
    if (!node || node.role === 'user') break;
    nodes.push(node);
    const children: readonly string[] = tree.children(at);
    at = children[children.length - 1];
  }
  return nodes;
}

/** The question that a message answers: itself if it is one, or else the last one before it. */
export function questionOf(tree: Tree, id: string): Node | undefined {
  let node = tree.get(id);
  while (node && node.role !== 'user') node = tree.get(node.parent);
  return node;
}

/** Whether a reply ended before its writer was done. */
export function isCut(node: Node): boolean {
  return node.role === 'assistant' && (node.status !== 'complete' || node.reply?.finish === 'length');
}
