// What could stand in the place of a token of an old reply: asked for when a person wants it, and kept as long as the page.
import { signal } from '@preact/signals';
import type { SampledToken } from '../api/inspecting';
import { client, keyOfServer } from './connection';
import { TOP } from './inspected';
import { fail } from './notices';

/** How many places are remembered. */
const PLACES = 400;
const found = signal<ReadonlyMap<string, SampledToken>>(new Map());
/** The place that is being computed. */
export const computing = signal<string | null>(null);

/** The name of a place in a reply. Another key sees nothing of what was asked with the one before. */
export function placeName(conversation: string, node: string, place: number): string {
  return JSON.stringify([keyOfServer(), conversation, node, place]);
}

export function alternativesAt(name: string): SampledToken | null {
  return found.value.get(name) ?? null;
}

/** Asks the model of a reply, unless an answer is awaited already. */
export async function computeAlternatives(
  conversation: string,
  node: string,
  place: number,
  model: string | null,
): Promise<void> {
  const name = placeName(conversation, node, place);
  if (computing.value !== null) return;
  computing.value = name;
  try {
    const body: Record<string, unknown> = { node, place, top_logprobs: TOP };
    if (model !== null) body['model'] = model;
    const { token } = await client.alternatives(conversation, body);
    const all = [...found.value, [name, token] as const];
    found.value = new Map(all.slice(-PLACES));
  } catch (error) {
    fail(error);
  } finally {
    computing.value = null;
  }
}
