// A tree as runs: messages that simply follow each other are one run, which ends at a fork or a leaf. A picture of the
// tree has as many parts as it has branches, however long they are.
import type { Tree } from './tree';

export interface Run {
  /** The id of its first node; an empty text for the place before all first messages. */
  key: string;
  nodes: readonly string[];
  children: Run[];
  parent: Run | null;
}

function runFrom(tree: Tree, first: string, parent: Run | null): Run {
  const nodes = [first];
  for (;;) {
    const children = tree.children(nodes[nodes.length - 1] ?? null);
    const [only] = children;
    if (children.length !== 1 || only === undefined) break;
    nodes.push(only);
  }
  return { key: first, nodes, children: [], parent };
}

/** The runs from `root` on; with `null`, or with several first messages, a run without nodes is the first. */
export function runsOf(tree: Tree, root: string | null): Run | null {
  const firsts = root === null ? tree.children(null) : [root];
  const [only] = firsts;
  if (only === undefined || (root !== null && !tree.get(root))) return null;
  const top: Run = firsts.length === 1 ? runFrom(tree, only, null) : { key: '', nodes: [], children: [], parent: null };
  const waiting = [top];
  for (let run = waiting.pop(); run; run = waiting.pop()) {
    const last = run.nodes[run.nodes.length - 1];
    const children = last === undefined ? firsts : tree.children(last);
    for (const id of children) {
      const child = runFrom(tree, id, run);
      run.children.push(child);
      waiting.push(child);
    }
  }
  return top;
}
