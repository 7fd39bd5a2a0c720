// The search with conditions: of conversations where there are no words, or else of messages.
import { signal } from '@preact/signals';
import { listConversations, node as readNode, searchMessages, type Conditions } from '../api/around';
import type { Conversation, Hit, Node } from '../api/types';
import { client } from './connection';

export interface Asked {
  text: string;
  /** Days, as date fields write them. */
  from: string;
  until: string;
  by: 'created' | 'updated';
  sort: string;
  metadata: string;
  /** Conditions on messages, which are compared here: the server has none of them. */
  role: string;
  model: string;
  label: string;
}

export const NOTHING: Asked = {
  text: '',
  from: '',
  until: '',
  by: 'updated',
  sort: '',
  metadata: '',
  role: '',
  model: '',
  label: '',
};

export type Found =
  { kind: 'conversation'; conversation: Conversation } | { kind: 'message'; hit: Hit; node: Node | null };

export const asked = signal<Asked>(NOTHING);
export const found = signal<readonly Found[]>([]);
export const searchState = signal<'idle' | 'searching' | 'ready' | 'failed'>('idle');
export const problem = signal('');
/** Where the next page begins. */
export const next = signal<string | null>(null);
/** How many messages were compared for conditions that the server does not have. */
export const compared = signal(0);
let present: AbortController | null = null;

/** The first second of a day here, or of the day after it. */
export function secondOf(day: string, isAfter = false): number | null {
  const [year, month, date] = day.split('-').map(Number);
  if (!year || !month || !date) return null;
  return Math.floor(new Date(year, month - 1, date + (isAfter ? 1 : 0)).getTime() / 1000);
}

/** Reads `topic=tea, year=2026`. */
export function metadataOf(text: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (const piece of text.split(',')) {
    const at = piece.indexOf('=');
    if (at > 0) pairs.push([piece.slice(0, at).trim(), piece.slice(at + 1).trim()]);
  }
  return pairs;
}

export function conditionsOf(given: Asked): Conditions {
  const [from, until] = [secondOf(given.from), secondOf(given.until, true)];
  const isCreated = given.by === 'created';
  const isMessage = given.text.trim() !== '';
  const possible = isMessage ? ['relevance', 'created'] : ['updated', 'created', 'name'];
  return {
    text: given.text,
    createdAfter: isCreated ? from : null,
    createdBefore: isCreated ? until : null,
    updatedAfter: isCreated ? null : from,
    updatedBefore: isCreated ? null : until,
    metadata: metadataOf(given.metadata),
    sort: possible.includes(given.sort) ? given.sort : '',
  };
}

function needsNodes(given: Asked): boolean {
  return given.model.trim() !== '' || given.label.trim() !== '';
}

function fits(given: Asked, hit: Hit, node: Node | null): boolean {
  const has = (whole: string | null | undefined, part: string) =>
    part.trim() === '' || (whole ?? '').toLowerCase().includes(part.trim().toLowerCase());
  if (given.role !== '' && hit.role !== given.role) return false;
  if (!needsNodes(given)) return true;
  return has(node?.reply?.model, given.model) && has(node?.label, given.label);
}

/** Reads the nodes of hits, a few at once. One that is gone is `null`. */
async function nodesOf(hits: readonly Hit[], signal: AbortSignal): Promise<(Node | null)[]> {
  const nodes: (Node | null)[] = [];
  for (let at = 0; at < hits.length; at += 6) {
    const some = hits.slice(at, at + 6).map((hit) => readNode(client, hit.conversation, hit.node, signal));
    const settled = await Promise.allSettled(some);
    nodes.push(...settled.map((one) => (one.status === 'fulfilled' ? one.value : null)));
  }
  return nodes;
}

async function page(given: Asked, cursor: string | null, signal: AbortSignal): Promise<Found[]> {
  const conditions = conditionsOf(given);
  if (given.text.trim() === '') {
    const list = await listConversations(client, conditions, cursor, signal);
    next.value = list.has_more ? (list.data[list.data.length - 1]?.id ?? null) : null;
    return list.data.map((conversation) => ({ kind: 'conversation', conversation }));
  }
  const hits = await searchMessages(client, conditions, cursor, signal);
  next.value = hits.next;
  const ofRole = hits.data.filter((hit) => given.role === '' || hit.role === given.role);
  const nodes = needsNodes(given) ? await nodesOf(ofRole, signal) : [];
  compared.value += hits.data.length;
  return ofRole.flatMap((hit, index): Found[] => {
    const node = nodes[index] ?? null;
    return fits(given, hit, node) ? [{ kind: 'message', hit, node }] : [];
  });
}

async function load(cursor: string | null): Promise<void> {
  present?.abort();
  const abort = new AbortController();
  present = abort;
  searchState.value = 'searching';
  try {
    const more = await page(asked.value, cursor, abort.signal);
    if (abort.signal.aborted) return;
    found.value = cursor === null ? more : [...found.value, ...more];
    searchState.value = 'ready';
  } catch (error) {
    if (abort.signal.aborted) return;
    problem.value = error instanceof Error ? error.message : String(error);
    searchState.value = 'failed';
  }
}

export function searchNow(): Promise<void> {
  next.value = null;
  compared.value = 0;
  return load(null);
}

export function searchMore(): Promise<void> {
  return next.value === null ? Promise.resolve() : load(next.value);
}
