// What a person chose for this browser. It is kept in the browser and never sent.
import { effect, signal } from '@preact/signals';
import { OTHERS } from '../language/others';

export interface Sampling {
  temperature?: number;
  top_p?: number;
  max_tokens?: number;
  seed?: number;
  top_k?: number;
  min_p?: number;
  typical_p?: number;
  repetition_penalty?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  no_repeat_ngram?: number;
  stop?: string[];
}

export type SamplingNumber = Exclude<keyof Sampling, 'stop'>;

const NUMBERS = [
  'temperature',
  'top_p',
  'max_tokens',
  'seed',
  'top_k',
  'min_p',
  'typical_p',
  'repetition_penalty',
  'presence_penalty',
  'frequency_penalty',
  'no_repeat_ngram',
] as const;

export interface Settings {
  theme: 'system' | 'light' | 'dark';
  contrast: 'system' | 'high';
  /** `system`, `en`, or the short name of another language. */
  language: string;
  /** Whether single letters are keys of commands. */
  letters: boolean;
  /** The model of new turns; the server's first one unless it is set. */
  model: string | null;
  sampling: Sampling;
  /** Whether new replies report the log-probabilities of their tokens. */
  logprobs: boolean;
  /** How long models think; `null` leaves it to them. */
  effort: string | null;
  /** A system prompt for the turns of this browser; empty for none. */
  systemPrompt: string;
  /** Whether the panel on the right is shown. */
  panel: boolean;
  /** Whether the list on the left is shown. */
  list: boolean;
}

/** How long models think, as requests name it. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

const NAME = 'alloquy.settings';
const USUAL: Settings = {
  theme: 'system',
  contrast: 'system',
  language: 'system',
  letters: true,
  model: null,
  sampling: {},
  logprobs: false,
  effort: null,
  systemPrompt: '',
  panel: true,
  list: true,
};

/** Returns the text that the browser keeps under a name, or `null` where it keeps nothing. */
export function kept(storage: 'local' | 'session', name: string): string | null {
  try {
    return (storage === 'local' ? localStorage : sessionStorage).getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a text in the browser, where it allows that; `null` removes it. */
export function keep(storage: 'local' | 'session', name: string, text: string | null): void {
  try {
    const place = storage === 'local' ? localStorage : sessionStorage;
    if (text === null) place.removeItem(name);
    else place.setItem(name, text);
  } catch {
    // A browser that keeps nothing: the value lasts as long as the page.
  }
}

function oneOf<T extends string>(value: unknown, possible: readonly T[], usual: T): T {
  return possible.find((entry) => entry === value) ?? usual;
}

function numbers(value: unknown): Sampling {
  const sampling: Sampling = {};
  if (typeof value !== 'object' || value === null) return sampling;
  const given = value as Record<string, unknown>;
  for (const name of NUMBERS) {
    const number = given[name];
    if (typeof number === 'number' && Number.isFinite(number)) sampling[name] = number;
  }
  const { stop } = given;
  if (Array.isArray(stop) && stop.length > 0 && stop.every((text) => typeof text === 'string')) sampling.stop = stop;
  return sampling;
}

/** Reads settings; what is not valid there becomes the usual. */
export function readSettings(text: string | null): Settings {
  let given: Record<string, unknown> = {};
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    if (typeof value === 'object' && value !== null) given = value as Record<string, unknown>;
  } catch {
    // Damaged: the usual ones.
  }
  return {
    theme: oneOf(given['theme'], ['system', 'light', 'dark'], USUAL.theme),
    contrast: oneOf(given['contrast'], ['system', 'high'], USUAL.contrast),
    language: oneOf(given['language'], ['system', 'en', ...Object.keys(OTHERS)], USUAL.language),
    letters: given['letters'] !== false,
    model: typeof given['model'] === 'string' ? given['model'] : null,
    sampling: numbers(given['sampling']),
    logprobs: given['logprobs'] === true,
    effort: EFFORTS.find((name) => name === given['effort']) ?? null,
    systemPrompt: typeof given['systemPrompt'] === 'string' ? given['systemPrompt'] : '',
    panel: given['panel'] !== false,
    list: given['list'] !== false,
  };
}

export const settings = signal<Settings>(readSettings(kept('local', NAME)));

export function set(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
  keep('local', NAME, JSON.stringify(settings.value));
}

/** Shows the theme and the contrast, now and when they change. */
export function watchAppearance(): void {
  effect(() => {
    const root = document.documentElement;
    root.dataset['theme'] = settings.value.theme;
    root.dataset['contrast'] = settings.value.contrast;
  });
}
