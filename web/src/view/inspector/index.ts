// The tabs of the panel on the right. Another one is registered here.
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { words } from '../../language';
import { Outline } from '../Outline';
import { later } from '../later';
import { Details } from './Details';
import { Marks } from './Marks';

export { presentTab } from './present';

export interface Tab {
  id: string;
  label: () => string;
  view: ComponentType;
}

export const tabs = signal<readonly Tab[]>([
  { id: 'tree', label: () => words.value.tree, view: Outline },
  { id: 'details', label: () => words.value.details, view: Details },
  { id: 'marks', label: () => words.value.bookmarks, view: Marks },
  {
    id: 'prompt',
    label: () => words.value.prompt,
    view: later(async () => (await import('./Prompt')).Prompt),
  },
  {
    id: 'reply',
    label: () => words.value.replyTokens,
    view: later(async () => (await import('./ReplyTokens')).ReplyTokens),
  },
]);

export function registerTab(tab: Tab): void {
  tabs.value = [...tabs.value.filter((other) => other.id !== tab.id), tab];
}
