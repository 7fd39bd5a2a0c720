// The tools of the host that a conversation uses. The choice is kept with the conversation, so that every window has it.
import { signal } from '@preact/signals';
import type { Conversation, HostTools } from '../api/types';

/** Whether each call waits for an approval. */
export type ToolUse = HostTools['require_approval'];
export type UsedTools = Record<string, ToolUse>;

/** The entry of a conversation's metadata with the choice. */
export const TOOLS = 'page_tools';

/** The choice for a conversation that is not begun. */
export const toolsOfNew = signal<UsedTools>({});

/** Returns the choice of a conversation by the labels of the servers; without a conversation, that of a new one. */
export function usedTools(conversation: Conversation | null): UsedTools {
  if (!conversation) return toolsOfNew.value;
  const given = (conversation.metadata[TOOLS] ?? {}) as Record<string, unknown>;
  const used: UsedTools = {};
  for (const [label, use] of Object.entries(given)) if (use === 'always' || use === 'never') used[label] = use;
  return used;
}

/** Returns them as a turn names them. */
export function namedTools(used: UsedTools): HostTools[] {
  return Object.entries(used).map(([server_label, require_approval]) => {
    return { type: 'mcp', server_label, require_approval };
  });
}
