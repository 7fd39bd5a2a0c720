// Calls of tools that wait for a person.
import type { Call, Node } from '../api/types';
import type { Tree } from '../tree/tree';

/** Returns the reply before a node and the results after it. */
export function replyBefore(tree: Tree, node: Node): Node | undefined {
  let reply: Node | undefined = node;
  while (reply?.role === 'tool') reply = tree.get(reply.parent);
  return reply?.role === 'assistant' ? reply : undefined;
}

/** The calls of the reply at or before a node that have no result there, if no result follows. */
export function waitingCalls(tree: Tree, node: Node): Call[] {
  const reply = replyBefore(tree, node);
  if (!reply || tree.children(node.id).some((id) => tree.get(id)?.role === 'tool')) return [];
  const answered = new Set<unknown>();
  for (let at: Node | undefined = node; at && at !== reply; at = tree.get(at.parent))
    for (const part of at.parts) answered.add(part.tool_result?.['id']);
  const calls = reply.parts.flatMap((part) => (part.tool_call ? [part.tool_call] : []));
  return calls.filter((call) => !answered.has(call.id));
}
