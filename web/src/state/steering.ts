// What steers a conversation beyond sending: replies written by a person, continued, scored; copies merged; forks.
import { signal } from '@preact/signals';
import type { Conversation, Merge, Node, Scores } from '../api/types';
import { words } from '../language';
import { forkAt, leavesOf, questionOf } from '../tree/forks';
import { leafBelow } from '../tree/path';
import { siblingsOf } from '../tree/siblings';
import { client } from './connection';
import { putConversation } from './list';
import { fail, notify } from './notices';
import { visit } from './route';
import { listeners, models, open, options } from './session';
import { settings } from './settings';
import { start } from './turns';

/** A dialog of steering: which one is open, and for which message. */
export interface SteeringDialog {
  kind: 'write' | 'score' | 'merge' | 'removed';
  node: string | null;
}

export const dialog = signal<SteeringDialog | null>(null);
/** The first message of the part of the tree that is shown alone, by conversation. */
export const hoisted = signal<ReadonlyMap<string, string>>(new Map());

/** Continues a reply from where it ended. The new one begins with it, and it stays as another version. */
export function continueReply(id: string): void {
  const present = open.value;
  const node = present?.tree.get(id);
  if (!present || node?.role !== 'assistant') return;
  // The model that wrote it has its tokens.
  const model = models.value.find((known) => known.id === node.reply?.model)?.id;
  const request = { ...options(), ...(model === undefined ? {} : { model }), action: 'continue' as const, node: id };
  present.show(node.parent, false);
  start(client, present.id, node.parent, null, request, listeners);
}

/** Where a reply that a person writes belongs: after the question itself, or beside the reply. */
export function placeOfReply(node: Node): string | null {
  return node.role === 'assistant' ? node.parent : node.id;
}

/** Stores a text as the reply at a place, as if the model had written it. */
export async function writeReply(place: string | null, text: string): Promise<void> {
  const present = open.value;
  if (!present || text === '') return;
  try {
    const added = await client.add(present.id, place, [{ role: 'assistant', content: text }]);
    for (const node of added.nodes) present.put(node);
    const last = added.nodes[added.nodes.length - 1];
    if (last) present.goTo(last.id);
  } catch (error) {
    fail(error);
  }
}

/** Lets the model continue a text as its reply to the question at a place. */
export function beginReply(place: string | null, text: string): void {
  const present = open.value;
  const question = place === null ? undefined : present?.tree.get(place);
  if (!present || !question || text === '') return;
  present.show(question.id, false);
  const request = { ...options(), action: 'retry' as const, node: question.id, prefix: text };
  start(client, present.id, question.id, null, request, listeners);
}

/** How likely texts are as replies at a place. */
export function score(place: string | null, texts: readonly string[]): Promise<Scores> {
  const present = open.value;
  if (!present) return Promise.reject(new Error(words.value.missing));
  const model = models.value.find((known) => known.id === settings.value.model)?.id;
  return client.score(present.id, place, texts, model);
}

/** Adds the messages of another copy of the conversation. */
export async function mergeFrom(from: string): Promise<Merge | null> {
  const present = open.value;
  if (!present) return null;
  try {
    const merged = await client.merge(present.id, from);
    await present.load();
    return merged;
  } catch (error) {
    fail(error);
    return null;
  }
}

/** Other conversations with messages of the open one, as far as their beginning says; all others follow. */
export function copiesFirst(all: readonly Conversation[], id: string): Conversation[] {
  const present = open.value;
  const isCopy = (other: Conversation) => other.head !== null && present?.tree.get(other.head) !== undefined;
  const name = present?.info.value?.metadata['title'];
  const rank = (other: Conversation) => (isCopy(other) ? 0 : other.metadata['title'] === name ? 1 : 2);
  return all.filter((other) => other.id !== id).sort((a, b) => rank(a) - rank(b));
}

/** Goes to the fork `step` further along the line. */
export function toFork(step: number): void {
  const present = open.value;
  if (!present) return;
  const fork = forkAt(present.tree, present.line.value, present.focused.value, step);
  if (fork === null) {
    notify(words.value.noFork);
    return;
  }
  present.focused.value = fork;
  present.sought.value = { id: fork };
}

/** Shows only a message with what follows it in the tree and the graph; `null` shows all. */
export function hoist(id: string | null): void {
  const present = open.value;
  if (!present) return;
  const changed = new Map(hoisted.value);
  if (id === null) changed.delete(present.id);
  else changed.set(present.id, id);
  hoisted.value = changed;
}

/** The first message of what the tree shows, if only a part is shown. */
export function rootOf(conversation: { id: string; tree: { get: (id: string) => Node | undefined } }): string | null {
  const root = hoisted.value.get(conversation.id);
  return root !== undefined && conversation.tree.get(root) ? root : null;
}

/** Shows several answers to the question of a message. */
export function showAnswers(id: string): void {
  const present = open.value;
  const question = present && questionOf(present.tree, id);
  if (present && question) visit({ screen: 'answers', conversation: present.id, node: question.id });
}

/** Sends a text as a question without an answer yet, and shows where several are asked for. */
export async function askSeveral(text: string): Promise<string | null> {
  if (text.trim() === '') return null;
  try {
    let id = open.value?.id;
    let at = open.value?.at.value ?? null;
    if (id === undefined) {
      const title = text.trim().split('\n')[0]?.slice(0, 60) ?? '';
      const conversation = await client.create({ metadata: { title } });
      putConversation(conversation);
      id = conversation.id;
      at = null;
    }
    const added = await client.add(id, at, [{ role: 'user', content: text }]);
    const question = added.nodes[0];
    if (!question) return null;
    if (open.value?.id === id) {
      open.value.put(question);
      open.value.show(question.id, false);
    }
    visit({ screen: 'answers', conversation: id, node: question.id });
    return question.id;
  } catch (error) {
    fail(error);
    return null;
  }
}

export function showGraph(id: string | null = null): void {
  const present = open.value;
  if (present) visit({ screen: 'graph', conversation: present.id, node: id ?? present.focused.value });
}

export function showLine(id: string | null = null): void {
  const present = open.value;
  if (present) visit({ conversation: present.id, node: id ?? present.focused.value });
}

export const BETWEEN = '..';

export function showComparison(left: string, right: string): void {
  const present = open.value;
  if (present) visit({ screen: 'compare', conversation: present.id, node: `${left}${BETWEEN}${right}` });
}

/** Compares the line with the branch of another version of a message; without versions, with the newest other branch. */
export function compare(id: string): void {
  const present = open.value;
  if (!present) return;
  const { tree, remembered } = present;
  const { ids, index } = siblingsOf(tree, id);
  const left = leafBelow(tree, id, remembered);
  const beside = ids[index - 1] ?? ids[index + 1];
  const right =
    beside === undefined ? leavesOf(tree).find((leaf) => leaf !== left) : leafBelow(tree, beside, remembered);
  if (left === null || right === undefined || right === null) {
    notify(words.value.oneBranch);
    return;
  }
  // The earlier version is on the left.
  if (beside !== undefined && index > 0) showComparison(right, left);
  else showComparison(left, right);
}
