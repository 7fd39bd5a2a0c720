// The tabs of the panel on the right. Another one is registered here.
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { words } from '../../language';
import { Outline } from '../Outline';
import { Details } from './Details';
import { Marks } from './Marks';

export interface Tab {
  id: string;
  label: () => string;
  view: ComponentType;
}

export const tabs = signal<readonly Tab[]>([
  { id: 'tree', label: () => words.value.tree, view: Outline },
  { id: 'details', label: () => words.value.details, view: Details },
  { id: 'marks', label: () => words.value.bookmarks, view: Marks },
]);

export const presentTab = signal('tree');

export function registerTab(tab: Tab): void {
  tabs.value = [...tabs.value.filter((other) => other.id !== tab.id), tab];
}
