// Addresses, settings, languages, keys and the places of long lists.
import { describe, expect, it } from 'vitest';
import { isLetter, nameOf, shown } from '../src/keys/dispatch';
import { chosen, other, words } from '../src/language';
import { around } from '../src/language/around';
import { en as aroundWords } from '../src/language/around/en';
import { de } from '../src/language/de';
import { en } from '../src/language/en';
import { inspecting } from '../src/language/inspecting';
import { en as inspectingWords } from '../src/language/inspecting/en';
import { OTHERS } from '../src/language/others';
import { readRoute, writeRoute } from '../src/state/route';
import { readSettings } from '../src/state/settings';
import { Heights } from '../src/view/heights';

describe('addresses', () => {
  it('are read as they were written', () => {
    const nowhere = { screen: 'conversation', conversation: null, node: null, subject: null };
    const route = { ...nowhere, conversation: 'conv_a b/c', node: '01' };
    expect(readRoute(writeRoute(route))).toEqual(route);
    expect(readRoute('')).toEqual(nowhere);
    expect(readRoute('#/graph/conv_a')).toEqual({ ...nowhere, screen: 'graph', conversation: 'conv_a' });
    expect(readRoute('#/c/%')).toEqual(nowhere);
    // The name of a prompt is no conversation, which would be opened.
    const prompt = { ...nowhere, screen: 'prompts', subject: 'user/ask' };
    expect(readRoute(writeRoute(prompt))).toEqual(prompt);
  });
});

describe('settings', () => {
  it('are usual where they are damaged', () => {
    expect(readSettings('{')).toEqual(readSettings(null));
    const read = readSettings(
      '{"theme":"dark","language":"xx","sampling":{"temperature":0.5,"seed":"x"},"letters":false}',
    );
    expect(read).toMatchObject({ theme: 'dark', language: 'system', sampling: { temperature: 0.5 }, letters: false });
  });
});

describe('languages', () => {
  it('have the same words', () => {
    expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort());
    for (const [key, word] of Object.entries(de)) expect(typeof word).toBe(typeof en[key as keyof typeof en]);
  });

  it('are a file and a line each', () => {
    const load = () => Promise.resolve({ words: en, around: aroundWords, inspecting: inspectingWords });
    OTHERS['fr'] = { name: 'Français', load };
    expect(chosen('system', ['fr-FR', 'de-CH'])).toBe('fr');
    expect(readSettings('{"language":"fr"}').language).toBe('fr');
    Reflect.deleteProperty(OTHERS, 'fr');
    expect(readSettings('{"language":"fr"}').language).toBe('system');
  });

  it('have their words on every part of the page', async () => {
    const german = await OTHERS['de']?.load();
    expect(german).toBeDefined();
    other.value = german ?? null;
    expect([words.value.search, around.value.reset, inspecting.value.askAlternatives]).toEqual([
      'Alle Nachrichten durchsuchen',
      'Zurücksetzen',
      'Alternativen berechnen',
    ]);
    other.value = null;
    expect([words.value, around.value, inspecting.value]).toEqual([en, aroundWords, inspectingWords]);
  });

  it('are chosen by the setting, or else by the browser', () => {
    expect(chosen('system', ['fr-FR', 'de-CH'])).toBe('de');
    expect(chosen('system', ['fr'])).toBe('en');
    expect(chosen('en', ['de'])).toBe('en');
  });
});

describe('keys', () => {
  const none = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };

  it('have names', () => {
    expect(nameOf({ ...none, key: '?', shiftKey: true })).toBe('?');
    expect(nameOf({ ...none, key: 'K', ctrlKey: true, shiftKey: true })).toBe('Mod+Shift+k');
    expect(nameOf({ ...none, key: 'k', metaKey: true })).toBe('Mod+k');
    expect(isLetter('[')).toBe(true);
    expect(isLetter('Escape')).toBe(false);
    expect(shown('Mod+Shift+k', false)).toBe('Ctrl Shift K');
  });
});

describe('a long list', () => {
  it('finds the item at a height, measured or estimated', () => {
    const heights = new Heights(0);
    heights.reset(['a', 'b', 'c'], [10, 10, 10]);
    expect(heights.measure('b', 1, 50)).toBe(40);
    expect(heights.measure('b', 1, 50)).toBe(0);
    expect(heights.total).toBe(70);
    expect([0, 9, 10, 59, 60, 1000].map((height) => heights.at(height))).toEqual([0, 0, 1, 1, 2, 2]);
    heights.reset(['x', 'b'], [10, 10]);
    expect(heights.top(2)).toBe(60);
  });
});
