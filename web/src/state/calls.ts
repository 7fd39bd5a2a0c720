// Calls of tools that wait for a person: each is allowed with its result, or refused, and all are answered at once.
import type { Call, Node } from '../api/types';
import type { Tree } from '../tree/tree';

/** The calls of a node, if no result follows it. */
export function waitingCalls(tree: Tree, node: Node): Call[] {
  if (node.role !== 'assistant') return [];
  const calls = node.parts.flatMap((part) => (part.tool_call ? [part.tool_call] : []));
  const isAnswered = tree.children(node.id).some((id) => tree.get(id)?.role === 'tool');
  return isAnswered ? [] : calls;
}

export interface Decision {
  isAllowed: boolean;
  /** The result, or the reason of a refusal. */
  text: string;
}

/** The messages that answer calls. The model reads a refusal as the result, in English like all texts of the server. */
export function resultsOf(calls: readonly Call[], decisions: readonly Decision[]): Record<string, unknown>[] {
  return calls.map((call, index) => {
    const decision = decisions[index] ?? { isAllowed: false, text: '' };
    const reason = decision.text.trim() === '' ? 'the person said no' : decision.text;
    const content = decision.isAllowed ? decision.text : `this call was refused: ${reason}`;
    return { role: 'tool', tool_call_id: call.id, name: call.name, content };
  });
}
