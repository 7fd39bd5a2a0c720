// What the server says of itself: its models with what they can do, and what is on. Older servers say nothing.
import { computed, effect, signal } from '@preact/signals';
import { about as ask, type About, type Capabilities } from '../api/around';
import { client, wantsKey } from './connection';
import { models } from './session';
import { settings } from './settings';
import { running } from './turns';

export const about = signal<About | null>(null);

/** The model that answers the next turn. */
export const answering = computed<string | null>(() => {
  const known = models.value;
  const wanted = settings.value.model;
  return known.some((model) => model.id === wanted) ? wanted : (known[0]?.id ?? null);
});

/** What the model of the next turn can do; `null` where that is not known. */
export const capabilities = computed<Capabilities | null>(() => {
  const name = answering.value;
  const model = about.value?.models.find((entry) => entry.id === name || entry.aliases.includes(name ?? ''));
  return model?.capabilities ?? null;
});

export async function refreshAbout(): Promise<void> {
  try {
    about.value = await ask(client);
  } catch {
    // It stays unknown.
  }
}

/** Asks once there is a key, and again after turns, which load models. */
export function watchServer(): void {
  let isAsked = false;
  let turns = 0;
  effect(() => {
    const count = running.value.length;
    const isFewer = count < turns;
    turns = count;
    // Without models there is no key yet, or no server.
    if (wantsKey.value || models.value.length === 0) {
      isAsked = false;
      return;
    }
    if (isAsked && !(isFewer && about.peek() !== null && capabilities.peek() === null)) return;
    isAsked = true;
    void refreshAbout();
  });
}
