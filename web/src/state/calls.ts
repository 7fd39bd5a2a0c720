// Calls of tools that wait for a person. Those of the host are allowed or refused, and the server runs them; for others, the result
// is given. All are answered at once.
import type { Call, NewTurn, Node, WaitingCall } from '../api/types';
import type { Tree } from '../tree/tree';

/** Returns the reply before a node and the results after it. */
function replyBefore(tree: Tree, node: Node): Node | undefined {
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

/** The calls of the host's tools among those, which wait for an approval. */
export function waitingApprovals(tree: Tree, node: Node): readonly WaitingCall[] {
  return replyBefore(tree, node)?.waiting ?? [];
}

export interface Decision {
  /** `null` is not decided. */
  isAllowed: boolean | null;
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

/** What a turn says that answers calls, of which some are of the host's tools. */
export function answerOf(
  calls: readonly Call[],
  approvals: readonly WaitingCall[],
  decisions: readonly Decision[],
): Pick<NewTurn, 'messages' | 'approvals'> {
  const isOfHost = (call: Call) => approvals.some((waiting) => waiting.call_id === call.id);
  const of = (are: boolean) => calls.flatMap((call, index) => (isOfHost(call) === are ? [index] : []));
  const [ofHost, ofClient] = [of(true), of(false)];
  const pick = <T>(all: readonly T[], indices: number[]) => indices.flatMap((index) => all.slice(index, index + 1));
  const messages = resultsOf(pick(calls, ofClient), pick(decisions, ofClient));
  if (ofHost.length === 0) return { messages };
  const decided = ofHost.map((index) => {
    const { isAllowed, text } = decisions[index] ?? { isAllowed: false, text: '' };
    const approval = { call_id: calls[index]?.id ?? '', approve: isAllowed === true };
    return isAllowed === true || text.trim() === '' ? approval : { ...approval, reason: text };
  });
  return messages.length === 0 ? { approvals: decided } : { approvals: decided, messages };
}
