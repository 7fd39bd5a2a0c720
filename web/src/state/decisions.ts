// What a person decides on calls of tools. Those of the host are allowed or refused, and the server runs them; for others, the result
// is given. All are answered at once.
import type { Call, Conversation, NewTurn, Node, WaitingCall } from '../api/types';
import type { Tree } from '../tree/tree';
import { replyBefore } from './calls';

/** The calls of the reply at or before a node that wait for an approval. The conversation notes which replies are decided. */
export function waitingApprovals(tree: Tree, node: Node, conversation: Conversation | null): readonly WaitingCall[] {
  const reply = replyBefore(tree, node);
  const decided = (conversation?.metadata['openai_approvals'] ?? {}) as Record<string, unknown>;
  return reply?.waiting && !(reply.id in decided) ? reply.waiting : [];
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
