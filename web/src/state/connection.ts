// The server of this page, and the key for it.
import { signal } from '@preact/signals';
import { Client } from '../api/client';
import { keep, kept } from './settings';

const NAME = 'alloquy.key';
const key = signal<string | null>(kept('session', NAME));

/** Whether the server wants a key, or refused the present one. */
export const wantsKey = signal(false);
/** Whether the server answered last time. */
export const isReachable = signal(true);
export const hasKey = () => key.value !== null;
export const keyOfServer = () => key.value;

/** Sets the key for as long as this window is open. */
export function setKeyOfServer(text: string | null): void {
  key.value = text;
  keep('session', NAME, text);
  wantsKey.value = false;
}

export const client = new Client({
  base: typeof document === 'undefined' ? 'http://localhost/' : new URL('./', document.baseURI).href,
  key: () => key.value,
  refused: () => {
    wantsKey.value = true;
  },
});
