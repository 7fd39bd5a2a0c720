// What the menus of messages and conversations offer.
import type { Conversation, Node } from '../api/types';
import { words } from '../language';
import { titleOf } from '../state/list';
import { fail, notify } from '../state/notices';
import {
  FORMATS,
  branchAt,
  edited,
  exportAs,
  fork,
  prune,
  regenerate,
  removeConversation,
  renameConversation,
  setBookmark,
  setLabel,
} from '../state/session';
import { compare, continueReply, dialog, hoist, showAnswers, showGraph } from '../state/steering';
import type { MenuItem } from './Menu';
import { inspect } from './inspector/inspect';
import { ask } from './overlays';

export function copyText(text: string): void {
  navigator.clipboard.writeText(text).then(() => notify(words.value.copied), fail);
}

export function askLabel(node: Node): void {
  const { setLabel: heading, labelLabel } = words.value;
  ask({ title: heading, label: labelLabel, value: node.label ?? '', answer: (text) => void setLabel(node.id, text) });
}

export function askTitle(conversation: Conversation): void {
  ask({
    title: words.value.rename,
    label: words.value.titleLabel,
    value: titleOf(conversation),
    answer: (text) => void renameConversation(conversation.id, text),
  });
}

/** What a message has in its menu. */
export function messageItems(node: Node): MenuItem[] {
  const present = words.value;
  const items: MenuItem[] = [
    { label: present.branchHere, icon: 'branch', run: () => branchAt(node.id) },
    { label: present.regenerate, icon: 'again', run: () => regenerate(node.id) },
    { label: present.answers, icon: 'columns', run: () => showAnswers(node.id) },
    { label: present.compare, icon: 'compare', run: () => compare(node.id) },
    {
      label: present.writeReply,
      icon: 'pen',
      run: () => {
        dialog.value = { kind: 'write', node: node.id };
      },
    },
    {
      label: present.score,
      icon: 'score',
      run: () => {
        dialog.value = { kind: 'score', node: node.id };
      },
    },
    { label: present.setLabel, icon: 'label', run: () => askLabel(node) },
    {
      label: present.bookmark,
      icon: 'bookmark',
      run: () => {
        const answer = (name: string) => void setBookmark(node.id, name);
        ask({ title: present.bookmark, label: present.bookmarkLabel, value: '', answer });
      },
    },
    { label: present.copy, icon: 'copy', run: () => copyText(node.text) },
    { label: present.hoist, icon: 'branch', run: () => hoist(node.id) },
    { label: present.showPrompt, icon: 'eye', run: () => inspect('prompt', node.id) },
    { label: present.fork, icon: 'fork', run: () => void fork(node.id) },
    { label: present.prune, icon: 'trash', run: () => prune(node.id), isDangerous: true },
  ];
  if (node.role === 'assistant') {
    items.unshift({ label: present.continueReply, icon: 'onward', run: () => continueReply(node.id) });
  }
  if (node.role === 'user') {
    items.unshift({
      label: present.edit,
      icon: 'edit',
      run: () => {
        edited.value = node.id;
      },
    });
  }
  return items;
}

export function conversationItems(conversation: Conversation): MenuItem[] {
  const present = words.value;
  const exports = FORMATS.map((format): MenuItem => {
    return { label: present.exportAs(format), icon: 'download', run: () => void exportAs(conversation.id, format) };
  });
  const name = titleOf(conversation) || present.untitled;
  return [
    { label: present.rename, icon: 'edit', run: () => askTitle(conversation) },
    { label: present.showGraph, icon: 'graph', run: () => showGraph() },
    {
      label: present.merge,
      icon: 'merge',
      run: () => {
        dialog.value = { kind: 'merge', node: null };
      },
    },
    {
      label: present.removedBranches,
      icon: 'trash',
      run: () => {
        dialog.value = { kind: 'removed', node: null };
      },
    },
    ...exports,
    { label: present.remove, icon: 'trash', run: () => removeConversation(conversation.id, name), isDangerous: true },
  ];
}
