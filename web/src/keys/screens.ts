// The keys of screens. What has the focus in such a screen gets them, before the commands of the page.
import { words } from '../language';
import { nameOf, type Pressed } from './dispatch';

interface ScreenKey {
  action: string;
  keys: readonly string[];
  label: () => string;
}

const ARROWS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'] as const;
const SHIFTED = ['Shift+ArrowLeft', 'Shift+ArrowRight', 'Shift+ArrowUp', 'Shift+ArrowDown'] as const;

export const screenKeys = {
  graph: [
    { action: 'move', keys: [...ARROWS, 'Home', 'End'], label: () => words.value.graphMove },
    { action: 'show', keys: ['Enter'], label: () => words.value.graphShow },
    { action: 'larger', keys: ['+', '='], label: () => words.value.zoomIn },
    { action: 'smaller', keys: ['-', '_'], label: () => words.value.zoomOut },
    { action: 'all', keys: ['0'], label: () => words.value.zoomAll },
    { action: 'active', keys: ['.'], label: () => words.value.zoomFocus },
    { action: 'picture', keys: [...SHIFTED], label: () => words.value.graphPicture },
  ],
  answers: [
    { action: 'number', keys: Array.from('123456789'), label: () => words.value.answersChoose },
    { action: 'next', keys: ['ArrowRight'], label: () => words.value.answersNext },
    { action: 'previous', keys: ['ArrowLeft'], label: () => words.value.answersPrevious },
    { action: 'first', keys: ['Home'], label: () => words.value.answersFirst },
    { action: 'last', keys: ['End'], label: () => words.value.answersLast },
    { action: 'keep', keys: ['Enter'], label: () => words.value.keepAnswer },
    { action: 'stop', keys: ['s'], label: () => words.value.stop },
    { action: 'remove', keys: ['Delete'], label: () => words.value.prune },
  ],
  compare: [
    { action: 'next', keys: ['n', 'ArrowDown'], label: () => words.value.compareNext },
    { action: 'previous', keys: ['p', 'ArrowUp'], label: () => words.value.comparePrevious },
    { action: 'words', keys: ['x'], label: () => words.value.compareChanges },
  ],
} as const satisfies Record<string, readonly ScreenKey[]>;

export type KeyedScreen = keyof typeof screenKeys;
export type ScreenAction<S extends KeyedScreen> = (typeof screenKeys)[S][number]['action'];

/** Returns what a key does in a screen, or `null`. */
export function actionOf<S extends KeyedScreen>(screen: S, pressed: Pressed): ScreenAction<S> | null {
  const name = nameOf(pressed);
  const all: readonly ScreenKey[] = screenKeys[screen];
  const found = all.find((entry) => entry.keys.includes(name));
  return (found?.action ?? null) as ScreenAction<S> | null;
}
