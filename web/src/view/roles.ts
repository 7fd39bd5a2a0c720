// What the writers of messages are called.
import type { Node } from '../api/types';
import { words } from '../language';
import { plainName } from '../text/plain';

export function roleName(role: string): string {
  const present = words.value;
  const names: Record<string, string> = {
    user: present.you,
    assistant: present.model,
    system: present.system,
    developer: present.system,
    tool: present.tool,
  };
  return names[role] ?? present.roleOf(plainName(role));
}

/** The last part of the name of a model, which says enough in a line. */
export function shortModel(name: string): string {
  return plainName(name).split('/').pop() ?? '';
}

export function writer(node: Node): string {
  return node.role === 'assistant' && node.reply ? shortModel(node.reply.model) : roleName(node.role);
}

/** What a message without a text is called in a list. */
export function wordless(node: Node): string {
  const present = words.value;
  if (node.parts.some((part) => part.tool_call)) return present.tool;
  const kinds = (['image', 'audio', 'video'] as const).filter((kind) => node.parts.some((part) => part[kind]));
  return kinds.length === 0 ? '…' : kinds.map((kind) => present.mediaKinds[kind]).join(', ');
}
