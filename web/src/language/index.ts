// The language of the page. English is always there; others are loaded when they are chosen.
import { computed, effect, signal } from '@preact/signals';
import { settings } from '../state/settings';
import { en, type Words } from './en';
import { OTHERS } from './others';
import type { Language } from './parts';

export type { Words } from './en';

/** The present language where it is not English, whose words are where they are needed. */
export const other = signal<Language | null>(null);
/** The present words. */
export const words = computed<Words>(() => other.value?.words ?? en);
export const language = signal('en');

/** Returns the language of a setting: the chosen one, or the browser's first one that there is. */
export function chosen(setting: string, preferred: readonly string[]): string {
  if (setting !== 'system') return setting;
  for (const name of preferred) {
    const short = name.slice(0, 2).toLowerCase();
    if (short === 'en' || short in OTHERS) return short;
  }
  return 'en';
}

/** Shows the chosen language, now and when it changes. */
export function watchLanguage(): void {
  effect(() => {
    const name = chosen(settings.value.language, navigator.languages);
    const loading = OTHERS[name]?.load() ?? Promise.resolve(null);
    void loading.then((loaded) => {
      other.value = loaded;
      language.value = name;
      document.documentElement.lang = name;
    });
  });
}

/** The browser's own form of the language, such as British English. */
function locale(): string {
  return navigator.languages.find((name) => name.slice(0, 2).toLowerCase() === language.value) ?? language.value;
}

/** Writes a time as people read it: the clock for today, or else the date. */
export function when(seconds: number, now = Date.now()): string {
  const date = new Date(seconds * 1000);
  const isToday = new Date(now).toDateString() === date.toDateString();
  const form: Intl.DateTimeFormatOptions = isToday
    ? { hour: '2-digit', minute: '2-digit' }
    : {
        day: 'numeric',
        month: 'short',
        year: date.getFullYear() === new Date(now).getFullYear() ? undefined : 'numeric',
      };
  return new Intl.DateTimeFormat(locale(), form).format(date);
}

export function fullTime(seconds: number): string {
  return new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'medium' }).format(seconds * 1000);
}

export function number(value: number): string {
  return new Intl.NumberFormat(locale()).format(value);
}
