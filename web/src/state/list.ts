// The list of conversations, and the search in them.
import { effect, signal } from '@preact/signals';
import { ApiError, type Client } from '../api/client';
import { follow } from '../api/events';
import type { Conversation, Hit } from '../api/types';
import { plainName } from '../text/plain';

export const conversations = signal<readonly Conversation[]>([]);
export const listState = signal<'loading' | 'ready' | 'failed'>('loading');
export const hasMore = signal(false);
/** Conversations that are about to be deleted: they are shown no more. */
export const leaving = signal<ReadonlySet<string>>(new Set());
export const searched = signal('');
export const hits = signal<readonly Hit[] | null>(null);
export const searchError = signal<string | null>(null);

/** What a conversation is called. */
export function titleOf(conversation: Conversation): string {
  const title = conversation.metadata['title'];
  return typeof title === 'string' && title.trim() !== '' ? plainName(title) : '';
}

/** Adds a conversation, or replaces it; the last updated one is the first. */
export function putConversation(conversation: Conversation): void {
  const others = conversations.value.filter((other) => other.id !== conversation.id);
  const at = others.findIndex((other) => other.updated_at <= conversation.updated_at);
  const place = at < 0 ? others.length : at;
  conversations.value = [...others.slice(0, place), conversation, ...others.slice(place)];
}

export function dropConversation(id: string): void {
  conversations.value = conversations.value.filter((conversation) => conversation.id !== id);
}

export function hideConversation(id: string, isHidden: boolean): void {
  const ids = new Set(leaving.value);
  if (isHidden) ids.add(id);
  else ids.delete(id);
  leaving.value = ids;
}

let isLoading = false;

export async function loadMore(client: Client, isFirst = false): Promise<void> {
  if (isLoading || (!isFirst && !hasMore.value)) return;
  isLoading = true;
  try {
    const last = conversations.value[conversations.value.length - 1];
    const page = await client.conversations(isFirst ? null : (last?.id ?? null));
    const before = isFirst ? [] : conversations.value;
    const known = new Set(before.map((conversation) => conversation.id));
    conversations.value = [...before, ...page.data.filter((conversation) => !known.has(conversation.id))];
    hasMore.value = page.has_more;
    listState.value = 'ready';
  } catch {
    if (isFirst) listState.value = 'failed';
  } finally {
    isLoading = false;
  }
}

/** Follows the changes of all conversations. */
export function followList(client: Client, signal: AbortSignal, connected: (is: boolean) => void): Promise<void> {
  return follow({
    open: (last, ended) => client.events(null, last, ended),
    event: (event) => {
      if (event.name === 'conversation.changed') putConversation(JSON.parse(event.data) as Conversation);
      if (event.name === 'conversation.deleted') dropConversation((JSON.parse(event.data) as { id: string }).id);
    },
    connected: (is) => {
      connected(is);
      if (is) void loadMore(client, true);
    },
    isFinal: (error) => error instanceof ApiError && error.status === 401,
    signal,
  });
}

/** Searches for the words of the box, a moment after the last key. */
export function watchSearch(client: Client): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let present: AbortController | undefined;
  return effect(() => {
    const text = searched.value.trim();
    clearTimeout(timer);
    present?.abort();
    searchError.value = null;
    if (text === '') {
      hits.value = null;
      return;
    }
    const abort = new AbortController();
    present = abort;
    timer = setTimeout(() => {
      client.search(text, null, abort.signal).then(
        (page) => {
          if (!abort.signal.aborted) hits.value = page.data;
        },
        (error: unknown) => {
          if (abort.signal.aborted) return;
          hits.value = [];
          searchError.value = error instanceof Error ? error.message : String(error);
        },
      );
    }, 200);
  });
}
