// The bytes of images and audio of conversations. A node has their digests; the whole document has the bytes.
import { effect, signal, untracked } from '@preact/signals';
import { client } from './connection';
import { open } from './session';

export type Stored = { state: 'loading' } | { state: 'ready'; url: string } | { state: 'missing' };

/** How many files that were sent from here are kept, so that they are not asked for again. */
const KEPT = 12;
/** What is shown as it is. Others are named only. */
const SHOWN = /^(image\/(png|jpeg|gif|webp|bmp|x-icon|vnd\.microsoft\.icon)|audio\/[a-z0-9.+-]+)$/;

const sent = new Map<string, Blob>();
const stored = signal<ReadonlyMap<string, Stored>>(new Map());
let of: string | null = null;
let isAsking = false;

async function digestOf(blob: Blob): Promise<string | null> {
  // Pages of other machines without TLS have no digests.
  if (typeof crypto === 'undefined' || !('subtle' in crypto)) return null;
  const hash = await crypto.subtle.digest('SHA-256', await blob.arrayBuffer());
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Keeps what is about to be sent. */
export async function keepMedia(blob: Blob): Promise<void> {
  const digest = await digestOf(blob);
  if (digest === null) return;
  sent.set(digest, blob);
  const [oldest] = sent.keys();
  if (sent.size > KEPT && oldest !== undefined) sent.delete(oldest);
}

function put(digest: string, next: Stored): void {
  const all = new Map(stored.value);
  all.set(digest, next);
  stored.value = all;
}

function blobOf(base64: string, type: string): Blob {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return new Blob([bytes], { type });
}

/** Asks for the document of the conversation, and takes the wanted bytes out of it. */
async function ask(id: string): Promise<void> {
  if (isAsking) return;
  isAsking = true;
  try {
    const { document: text } = await client.export(id, 'alloquy');
    const { blobs = {} } = JSON.parse(text) as { blobs?: Record<string, string> };
    if (of !== id) return;
    for (const [digest, found] of stored.value) {
      if (found.state !== 'loading') continue;
      const base64 = blobs[digest];
      const type = wanted.get(digest) ?? '';
      if (base64 === undefined) put(digest, { state: 'missing' });
      else put(digest, { state: 'ready', url: URL.createObjectURL(blobOf(base64, type)) });
    }
  } catch {
    for (const [digest, found] of stored.value) if (found.state === 'loading') put(digest, { state: 'missing' });
  } finally {
    isAsking = false;
  }
}

const wanted = new Map<string, string>();

/** Returns the file of a part, or that it is being asked for. */
export function mediaOf(digest: string, type: string): Stored {
  const found = stored.value.get(digest);
  if (found) return found;
  const id = open.peek()?.id ?? null;
  if (id === null || !SHOWN.test(type)) return { state: 'missing' };
  wanted.set(digest, type);
  const kept = sent.get(digest);
  queueMicrotask(() => {
    if (stored.peek().has(digest)) return;
    if (kept) {
      put(digest, { state: 'ready', url: URL.createObjectURL(kept) });
      return;
    }
    put(digest, { state: 'loading' });
    // Those of the messages that are drawn together are asked for together.
    setTimeout(() => void ask(id), 50);
  });
  return { state: 'loading' };
}

/** Forgets the files of a conversation that is shown no more. */
export function watchMedia(): void {
  effect(() => {
    const id = open.value?.id ?? null;
    untracked(() => {
      if (id === of) return;
      of = id;
      for (const found of stored.value.values()) if (found.state === 'ready') URL.revokeObjectURL(found.url);
      wanted.clear();
      stored.value = new Map();
    });
  });
}
