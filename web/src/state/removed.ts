// Branches that were removed in this window: kept, so that they can be put back or opened as a copy.
import { signal } from '@preact/signals';
import type { Node, Part } from '../api/types';
import { words } from '../language';
import { client } from './connection';
import { putConversation } from './list';
import { fail, notify } from './notices';
import type { OpenConversation } from './open';
import { visit } from './route';
import { keep, kept } from './settings';

export interface Removed {
  key: number;
  conversation: string;
  /** When it was removed, in milliseconds since 1970. */
  at: number;
  /** The nodes, each after its parent. */
  nodes: readonly Node[];
  /** The whole conversation as it was before, in the format that keeps everything; `null` if it could not be exported. */
  document: string | null;
}

const NAME = 'alloquy.removed';
const MOST = 20;
/** How many characters of them outlast a reload. */
const LONGEST = 2_000_000;

function read(text: string | null): Removed[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? (value as Removed[]) : [];
  } catch {
    return [];
  }
}

export const removed = signal<readonly Removed[]>(read(kept('session', NAME)));

function set(changed: readonly Removed[]): void {
  removed.value = changed;
  const text = JSON.stringify(changed);
  keep('session', NAME, text.length > LONGEST ? null : text);
}

/** Keeps a branch that is about to be removed. */
export async function keepRemoved(conversation: string, nodes: readonly Node[]): Promise<void> {
  let document: string | null = null;
  try {
    document = (await client.export(conversation, 'alloquy')).document;
  } catch {
    // It can be put back without the export.
  }
  const key = Date.now();
  set([{ key, conversation, at: key, nodes, document }, ...removed.value].slice(0, MOST));
}

export function forget(key: number): void {
  set(removed.value.filter((entry) => entry.key !== key));
}

/** A message as it is sent to the server again; `null` where it has parts that cannot be sent. */
export function messageOf(node: Node): Record<string, unknown> | null {
  const texts: string[] = [];
  const calls: unknown[] = [];
  let answered: NonNullable<Part['tool_result']> | null = null;
  for (const part of node.parts) {
    if (part.text !== undefined) texts.push(part.text);
    else if (part.tool_call) {
      const { id, name, arguments: given } = part.tool_call;
      calls.push({ id, type: 'function', function: { name, arguments: JSON.stringify(given) } });
    } else if (part.tool_result) answered = part.tool_result;
    else return null;
  }
  if (answered) {
    const { id, content } = answered as { id?: unknown; content?: unknown };
    return { role: 'tool', tool_call_id: id, content: typeof content === 'string' ? content : JSON.stringify(content) };
  }
  const message: Record<string, unknown> = { role: node.role, content: texts.join('') };
  if (calls.length > 0) message['tool_calls'] = calls;
  return message;
}

/** Adds the messages of a removed branch again, with their labels and bookmarks. They have new ids. */
export async function putBack(present: OpenConversation, entry: Removed): Promise<void> {
  const ids = new Map<string, string>();
  try {
    for (const node of entry.nodes) {
      const message = messageOf(node);
      const parent = node.parent === null ? null : (ids.get(node.parent) ?? node.parent);
      if (message === null || (parent !== null && !present.tree.get(parent))) continue;
      const added = await client.add(present.id, parent, [message], node.label);
      for (const stored of added.nodes) {
        present.put(stored);
        ids.set(node.id, stored.id);
      }
      for (const name of node.bookmarks) await client.bookmark(present.id, name, ids.get(node.id) ?? '');
    }
    const left = entry.nodes.length - ids.size;
    if (left === 0) forget(entry.key);
    notify(words.value.putBack(ids.size, left));
    const first = ids.get(entry.nodes[0]?.id ?? '');
    if (first !== undefined) present.goTo(first);
  } catch (error) {
    fail(error);
  }
}

/** The export of a conversation under another name, since an import replaces none. */
export function renamed(document: string, ending: string): string {
  const whole = JSON.parse(document) as { record?: { id?: unknown } };
  if (typeof whole.record?.id === 'string') whole.record.id = `${whole.record.id}-${ending}`;
  return JSON.stringify(whole);
}

/** Opens the conversation as it was before the branch was removed, as another conversation. */
export async function openAsCopy(entry: Removed): Promise<void> {
  if (entry.document === null) return;
  try {
    const { imported, refused } = await client.import(renamed(entry.document, Date.now().toString(36)));
    const [first] = imported;
    if (!first) throw new Error(refused.join(' '));
    putConversation(await client.conversation(first.id));
    visit({ conversation: first.id });
    notify(words.value.forked);
  } catch (error) {
    fail(error);
  }
}
