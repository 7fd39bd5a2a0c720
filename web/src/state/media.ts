// The bytes of images, audio and video of conversations. A node has their digests, and the server gives the bytes at the node.
import { effect, signal, untracked } from '@preact/signals';
import { client } from './connection';
import { open } from './session';

export type Shown = 'image' | 'audio' | 'video';
export type Stored = { state: 'loading' } | { state: 'ready'; url: string; shown: Shown } | { state: 'missing' };

/** How many files that were sent from here are kept, so that they are not asked for again. */
const KEPT = 12;
/** What is shown as it is. Others are named only. */
const SHOWN =
  /^(?:(image)\/(?:png|jpeg|gif|webp|bmp|x-icon|vnd\.microsoft\.icon)|(audio|video)\/[a-z0-9.+-]+)(?:;.*)?$/;

const sent = new Map<string, Blob>();
const stored = signal<ReadonlyMap<string, Stored>>(new Map());
let of: string | null = null;

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

/** Returns how the page shows media of a type, if it does. */
export function shownAs(type: string): Shown | null {
  const [, image, other] = SHOWN.exec(type) ?? [];
  return (image ?? other ?? null) as Shown | null;
}

function put(digest: string, next: Stored): void {
  const all = new Map(stored.value);
  all.set(digest, next);
  stored.value = all;
}

/** A file is shown by the type that its bytes have: the server says it, and not the message. */
function ready(digest: string, blob: Blob): void {
  const shown = shownAs(blob.type);
  put(digest, shown === null ? { state: 'missing' } : { state: 'ready', url: URL.createObjectURL(blob), shown });
}

async function ask(id: string, node: string, digest: string): Promise<void> {
  let blob: Blob | null = null;
  try {
    blob = await client.media(id, node, digest);
  } catch {
    // It stays a name: a server of another version may not have it.
  }
  if (of !== id) return;
  if (blob === null) put(digest, { state: 'missing' });
  else ready(digest, blob);
}

/** Returns the file of a part, or that it is being asked for. */
export function mediaOf(node: string, digest: string): Stored {
  const found = stored.value.get(digest);
  if (found) return found;
  const id = open.peek()?.id ?? null;
  if (id === null) return { state: 'missing' };
  queueMicrotask(() => {
    if (stored.peek().has(digest)) return;
    const kept = sent.get(digest);
    if (kept) {
      ready(digest, kept);
      return;
    }
    put(digest, { state: 'loading' });
    void ask(id, node, digest);
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
      stored.value = new Map();
    });
  });
}
