// The screens of the page, by the first part of their address. Another one is registered here.
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { words } from '../language';
import { ConversationScreen } from './ConversationScreen';
import { later } from './later';

export interface Screen {
  id: string;
  label: () => string;
  view: ComponentType;
  /** Whether the panel of the conversation is beside it. */
  hasPanel: boolean;
}

export const screens = signal<readonly Screen[]>([
  { id: 'conversation', label: () => words.value.conversation, view: ConversationScreen, hasPanel: true },
  {
    id: 'graph',
    label: () => words.value.graph,
    view: later(async () => (await import('./graph/GraphScreen')).GraphScreen),
    hasPanel: true,
  },
  {
    id: 'answers',
    label: () => words.value.answers,
    view: later(async () => (await import('./steering/AnswersScreen')).AnswersScreen),
    hasPanel: false,
  },
  {
    id: 'compare',
    label: () => words.value.compareTitle,
    view: later(async () => (await import('./steering/CompareScreen')).CompareScreen),
    hasPanel: false,
  },
]);

export function registerScreen(screen: Screen): void {
  screens.value = [...screens.value.filter((other) => other.id !== screen.id), screen];
}
