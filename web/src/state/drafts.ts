// Texts that are not sent yet: one for each place of a conversation where a message can follow.
import { keep, kept } from './settings';

const LIMIT = 200_000;

function name(conversation: string, node: string | null): string {
  return `alloquy.draft.${conversation}.${node ?? 'root'}`;
}

export function draft(conversation: string, node: string | null): string {
  return kept('local', name(conversation, node)) ?? '';
}

export function keepDraft(conversation: string, node: string | null, text: string): void {
  // Longer ones last as long as the page does.
  keep('local', name(conversation, node), text === '' || text.length > LIMIT ? null : text);
}

/** Moves a draft to another place, unless there is one already. */
export function moveDraft(conversation: string, from: string | null, to: string | null): void {
  const text = draft(conversation, from);
  if (text === '' || draft(conversation, to) !== '') return;
  keepDraft(conversation, to, text);
  keepDraft(conversation, from, '');
}
