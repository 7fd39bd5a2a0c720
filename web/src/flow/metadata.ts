// Which flow a conversation belongs to.
import type { Conversation } from '../api/types';

/** The flow that a conversation was created for. */
export function flowOf(conversation: Conversation | null | undefined): string | null {
  const name = conversation?.metadata['flow_name'];
  return typeof name === 'string' ? name : null;
}
