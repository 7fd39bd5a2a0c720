// Nodes for tests.
import type { Node } from '../src/api/types';

export function node(id: string, parent: string | null, given: Partial<Node> = {}): Node {
  return {
    id,
    parent,
    created_at: 0,
    role: 'user',
    text: id,
    parts: [{ text: id }],
    status: 'complete',
    label: null,
    bookmarks: [],
    metadata: {},
    reply: null,
    prompt: null,
    ...given,
  };
}
