// Images and audio that are sent with the next message of this window.
import { signal } from '@preact/signals';
import { words } from '../language';
import { fail, notify } from './notices';
import { capabilities } from './server';
import { keepMedia } from './media';

export interface Attachment {
  key: number;
  name: string;
  kind: 'image' | 'audio';
  /** Its MIME type. */
  type: string;
  base64: string;
  /** Where it can be shown. */
  url: string;
}

/** Larger files are refused here: a request has its limit too. */
const LARGEST = 20 * 1024 * 1024;

export const attachments = signal<readonly Attachment[]>([]);
let last = 0;

/** What a file is for a message; `null` for a document. */
export function kindOf(file: File): 'image' | 'audio' | null {
  // SVG is a document with scripts, and no model takes it.
  if (file.type === 'image/svg+xml') return null;
  if (file.type.startsWith('image/')) return 'image';
  return file.type.startsWith('audio/') ? 'audio' : null;
}

export async function base64Of(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(text);
}

export async function attach(files: readonly File[]): Promise<void> {
  for (const file of files) {
    const kind = kindOf(file);
    if (kind === null) {
      notify(words.value.notMedia(file.name));
      continue;
    }
    if (capabilities.value && !capabilities.value[kind]) {
      notify(words.value.takesNo(kind));
      continue;
    }
    if (file.size > LARGEST) {
      notify(words.value.tooLarge(file.name));
      continue;
    }
    try {
      const base64 = await base64Of(file);
      await keepMedia(file);
      last += 1;
      const url = URL.createObjectURL(file);
      attachments.value = [...attachments.value, { key: last, name: file.name, kind, type: file.type, base64, url }];
    } catch (error) {
      fail(error);
    }
  }
}

export function detach(key: number): void {
  const gone = attachments.value.find((entry) => entry.key === key);
  if (gone) URL.revokeObjectURL(gone.url);
  attachments.value = attachments.value.filter((entry) => entry.key !== key);
}

/** Takes all of them out, and returns them. */
export function takeAttachments(): readonly Attachment[] {
  const all = attachments.value;
  attachments.value = [];
  return all;
}

export function returnAttachments(all: readonly Attachment[]): void {
  attachments.value = [...all, ...attachments.value];
}

function formatOf(type: string): string {
  const name = type.replace(/^audio\/(x-)?/, '').replace(/;.*$/, '');
  return { mpeg: 'mp3', wave: 'wav', 'vnd.wave': 'wav' }[name] ?? name;
}

/** A user's message with a text and media, as Chat Completions have it. */
export function messageOf(text: string, all: readonly Attachment[]): Record<string, unknown> {
  const content: Record<string, unknown>[] = all.map(({ kind, type, base64 }) =>
    kind === 'image'
      ? { type: 'image_url', image_url: { url: `data:${type};base64,${base64}` } }
      : { type: 'input_audio', input_audio: { data: base64, format: formatOf(type) } },
  );
  if (text.trim() !== '') content.push({ type: 'text', text });
  return { role: 'user', content };
}
