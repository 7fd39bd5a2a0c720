// Other versions of a reply: from another token on, or with the likelihood of its tokens.
import type { NewTurn, Node } from '../../api/types';
import { inspecting } from '../../language/inspecting';
import { TOP } from '../../state/inspected';
import { fail, notify } from '../../state/notices';
import { answer } from '../../state/session';
import { branchPrefix } from '../../text/tokens';

/** What another version has in common with a reply. */
function sameAs(node: Node, model: string | null): NewTurn {
  const turn: NewTurn = { action: 'send', logprobs: true, top_logprobs: TOP };
  if (model !== null) turn.model = model;
  if (node.reply?.system_prompt !== undefined) turn.system_prompt = node.reply.system_prompt;
  return turn;
}

/**
 * Answers the message before a reply with the same tokens up to a place, and then `chosen`. `before` are all ids of the
 * reply; `sampled` is the one that is replaced.
 */
export function branchAtToken(
  node: Node,
  model: string | null,
  before: readonly { id: number }[] | null,
  place: number,
  sampled: number,
  chosen: number,
): void {
  if (before?.[place]?.id !== sampled) {
    fail(inspecting.value.branchRefused);
    return;
  }
  answer(node.parent, { ...sameAs(node, model), prefix_tokens: branchPrefix(before, place, chosen) });
  notify(inspecting.value.branched);
}

export function answerAgain(node: Node, model: string | null): void {
  answer(node.parent, sameAs(node, model));
}
