// Texts that are not sent yet: one for each place of a conversation where a message can follow.
import { keep, kept } from './settings';

const LIMIT = 200_000;

function name(conversation: string, node: string | null): string {
  return `alloquy.draft.${conversation}.${node ?? 'root'}`;
}

/** The drafts of this window: another window of the same browser may write at the same place. */
const present = new Map<string, string>();

export function draft(conversation: string, node: string | null): string {
  const of = name(conversation, node);
  return present.get(of) ?? kept('local', of) ?? '';
}

export function keepDraft(conversation: string, node: string | null, text: string): void {
  const of = name(conversation, node);
  present.set(of, text);
  // Longer ones last as long as the page does.
  keep('local', of, text === '' || text.length > LIMIT ? null : text);
}

/** Moves a draft to another place, unless there is one already. */
export function moveDraft(conversation: string, from: string | null, to: string | null): void {
  const text = draft(conversation, from);
  if (text === '' || draft(conversation, to) !== '') return;
  keepDraft(conversation, to, text);
  keepDraft(conversation, from, '');
}
