// Short notices, some of which can be undone, and sentences for screen readers.
import { signal } from '@preact/signals';

export interface Notice {
  key: number;
  text: string;
  isError: boolean;
  /** What undoes it. */
  undo: (() => void) | null;
}

/** How long a notice is shown, and how long something can be undone. */
export const SHOWN = 8000;

export const notices = signal<readonly Notice[]>([]);
/** The last sentence for screen readers. */
export const spoken = signal('');
let last = 0;

export function dismiss(key: number): void {
  notices.value = notices.value.filter((notice) => notice.key !== key);
}

function show(text: string, isError: boolean, undo: (() => void) | null): number {
  last += 1;
  const key = last;
  notices.value = [...notices.value.slice(-3), { key, text, isError, undo }];
  setTimeout(() => dismiss(key), isError ? 2 * SHOWN : SHOWN);
  return key;
}

export function notify(text: string): void {
  show(text, false, null);
}

/** Shows why something failed. */
export function fail(error: unknown): void {
  show(error instanceof Error ? error.message : String(error), true, null);
}

export function speak(sentence: string): void {
  spoken.value = sentence;
}

interface Later {
  run: (keepalive: boolean) => void;
  timer: ReturnType<typeof setTimeout>;
}

const later = new Set<Later>();

/** Does something when it cannot be undone any more: after the notice, or when the page is closed. */
export function doLater(text: string, run: (keepalive: boolean) => void, undo: () => void): void {
  const end = (keepalive: boolean) => {
    clearTimeout(entry.timer);
    if (later.delete(entry)) run(keepalive);
  };
  const timer = setTimeout(() => {
    end(false);
    dismiss(key);
  }, SHOWN);
  const entry: Later = { run: end, timer };
  later.add(entry);
  const key = show(text, false, () => {
    clearTimeout(entry.timer);
    if (later.delete(entry)) undo();
    dismiss(key);
  });
}

/** Does now what would be done later. */
export function doNow(keepalive: boolean): void {
  for (const entry of [...later]) entry.run(keepalive);
}

if (typeof window !== 'undefined') window.addEventListener('pagehide', () => doNow(true));
