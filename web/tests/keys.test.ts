// The map of the keys: in one place, a key does one thing.
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Command } from '../src/keys/map';
import { actionOf, screenKeys, type KeyedScreen } from '../src/keys/screens';

/** What a key of a screen takes from the commands of the page, on purpose. */
const TAKEN: Record<KeyedScreen, string[]> = {
  graph: [],
  answers: ['s: stop instead of score', 'Delete: remove instead of prune'],
  compare: ['n: next instead of new', 'p: previous instead of prompt', 'x: words instead of tokens'],
};
const none = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };

let all: readonly Command[] = [];

beforeAll(async () => {
  // What the commands import knows the browser, but registering them needs only these.
  const nothing = () => undefined;
  const storage = { getItem: () => null, setItem: nothing, removeItem: nothing };
  vi.stubGlobal('location', { hash: '', href: 'http://127.0.0.1/', origin: 'http://127.0.0.1', pathname: '/' });
  vi.stubGlobal('sessionStorage', storage);
  vi.stubGlobal('localStorage', storage);
  vi.stubGlobal('fetch', () => new Promise(nothing));
  const { commands } = await import('../src/keys/map');
  const { registerAll } = await import('../src/keys/commands');
  const { registerSteering } = await import('../src/keys/steering');
  const { registerAround } = await import('../src/view/around/register');
  registerAll();
  registerSteering();
  registerAround();
  all = commands.value;
  return () => vi.unstubAllGlobals();
});

function doubled(entries: readonly (readonly [string, readonly string[]])[]): string[] {
  const owners = new Map<string, string[]>();
  for (const [id, keys] of entries) for (const key of keys) owners.set(key, [...(owners.get(key) ?? []), id]);
  return [...owners].filter(([, ids]) => ids.length > 1).map(([key, ids]) => `${key}: ${ids.join(' and ')}`);
}

describe('the map of the keys', () => {
  it('has all commands', () => {
    expect(all.length).toBeGreaterThan(45);
    const withoutKeys = all.filter((command) => command.keys.length === 0).map((command) => command.id);
    expect(withoutKeys).toEqual([]);
  });

  it('has no key for two commands', () => {
    expect(doubled(all.map((command) => [command.id, command.keys] as const))).toEqual([]);
    expect(doubled([...all.map((command) => [command.id, command.keys] as const), ['other', ['r']]])).toEqual([
      'r: regenerate and other',
    ]);
  });

  it('has no keys that the browser keeps for itself', () => {
    const kept = ['Mod+t', 'Mod+w', 'Mod+n', 'Mod+r', 'Mod+l', 'Mod+p', 'Mod+Shift+t', 'Mod+Shift+n', 'Alt+d', 'F5'];
    const taken = all.flatMap((command) => command.keys.filter((key) => kept.includes(key)));
    expect(taken).toEqual([]);
  });

  for (const screen of Object.keys(screenKeys) as KeyedScreen[]) {
    it(`has no key for two actions of a screen: ${screen}`, () => {
      const rows = screenKeys[screen].map(({ action, keys }) => [action, keys] as const);
      expect(doubled(rows)).toEqual([]);
      const taken: string[] = [];
      for (const [action, keys] of rows) {
        for (const key of keys) {
          const command = all.find((entry) => entry.keys.includes(key));
          if (command) taken.push(`${key}: ${action} instead of ${command.id}`);
        }
      }
      expect(taken).toEqual(TAKEN[screen]);
    });
  }

  it('says what a key does in a screen', () => {
    expect(actionOf('graph', { ...none, key: 'ArrowUp' })).toBe('move');
    expect(actionOf('graph', { ...none, key: 'ArrowUp', shiftKey: true })).toBe('picture');
    expect(actionOf('graph', { ...none, key: '+', shiftKey: true })).toBe('larger');
    expect(actionOf('answers', { ...none, key: '3' })).toBe('number');
    expect(actionOf('answers', { ...none, key: 's', ctrlKey: true })).toBeNull();
    expect(actionOf('compare', { ...none, key: 'n' })).toBe('next');
    expect(actionOf('compare', { ...none, key: 'q' })).toBeNull();
  });
});
