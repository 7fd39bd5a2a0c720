// What this window shows: the open conversation, and what can be done with it.
import { computed, effect, signal, untracked } from '@preact/signals';
import { ApiError } from '../api/client';
import type { Model, NewTurn, Node } from '../api/types';
import { words } from '../language';
import { leafBelow } from '../tree/path';
import { nearestFork, siblingAt } from '../tree/siblings';
import { client, isReachable, wantsKey } from './connection';
import { keepDraft } from './drafts';
import {
  dropConversation,
  followList,
  hideConversation,
  loadMore,
  putConversation,
  titleOf,
  watchSearch,
} from './list';
import { logprobOptions } from './inspected';
import { doLater, fail, notify, speak } from './notices';
import { OpenConversation } from './open';
import { keepRemoved } from './removed';
import { rename, route, visit } from './route';
import { set, settings } from './settings';
import { TOOLS, namedTools, toolsOfNew, usedTools } from './tools';
import { drop, start, stop, turnsAt, turnsOf, type Listeners, type RunningTurn } from './turns';

export const open = signal<OpenConversation | null>(null);
export const models = signal<readonly Model[]>([]);
/** The message that is edited. */
export const edited = signal<string | null>(null);
/** Asks for the focus of a part of the page. */
export const wantsFocus = signal<{ part: 'composer' | 'tree' | 'line' | 'search' | 'panel' } | null>(null);

/** How long a stopped reply may take to be stored. */
const STORING = 4000;

export const title = computed(() => {
  const info = open.value?.info.value;
  return info ? titleOf(info) : '';
});

export function focusOn(part: 'composer' | 'tree' | 'line' | 'search' | 'panel'): void {
  // At once where it is seen: what is typed next is text, and no keys of commands.
  const field = { composer: '#composer', search: '.search input', tree: null, line: null, panel: null }[part];
  const element = field === null ? null : document.querySelector<HTMLElement>(field);
  if (element?.checkVisibility()) element.focus();
  if (part === 'search' && element instanceof HTMLInputElement) element.select();
  wantsFocus.value = { part };
}

/** Begins to show what the address says, and to follow the changes of the server. */
export function begin(): void {
  let list: AbortController | null = null;
  effect(() => {
    if (wantsKey.value) {
      list?.abort();
      list = null;
      return;
    }
    if (list) return;
    list = new AbortController();
    const { signal: ended } = list;
    untracked(() => {
      void loadMore(client, true);
      void client.models().then(
        (page) => {
          models.value = page.data;
        },
        () => undefined,
      );
      void followList(client, ended, (is) => {
        isReachable.value = is;
      });
    });
  });
  watchSearch(client);
  effect(() => {
    const { screen, conversation, node } = route.value;
    // Other screens of a conversation name it in their address.
    if (wantsKey.value || (screen !== 'conversation' && conversation === null)) return;
    untracked(() => show(conversation, node));
  });
  effect(() => {
    const present = open.value;
    const { screen, conversation } = route.value;
    const isNamed = screen === 'conversation' || screen === 'graph';
    if (!present || present.state.value !== 'ready' || !isNamed || conversation !== present.id) return;
    const node = present.focused.value ?? present.at.value;
    rename({ screen, conversation, node });
  });
  effect(() => {
    document.title = title.value ? `${title.value} – ${words.value.product}` : words.value.product;
  });
}

function show(id: string | null, node: string | null): void {
  const present = open.value;
  const isOver = present !== null && ['failed', 'missing'].includes(present.state.value);
  if (present && present.id === id && !isOver) {
    if (node !== null && present.tree.get(node)) present.goTo(node);
    return;
  }
  present?.close();
  edited.value = null;
  if (id === null) {
    open.value = null;
    return;
  }
  const next = new OpenConversation(client, id, () => notify(words.value.headMoved));
  next.onNode = (node) => settleStopped(next, node);
  open.value = next;
  void next.open(node, () => turnsOf(id).at(-1)?.anchor.value ?? null);
}

/** What is done with what a turn stores, where its line is shown. */
export const listeners: Listeners = {
  node: (turn, node) => {
    const present = open.value;
    if (present?.id !== turn.conversation) return;
    // The newest of several turns at one place is the one that is shown.
    const isNewest = turnsAt(present.id, node.parent).every((other) => other.key < turn.key);
    if (isNewest) present.stored(node);
    else present.put(node);
  },
  end: (turn) => {
    if (turn.state.value !== 'stopping') return;
    setTimeout(() => drop(turn), STORING);
  },
  sentence: speak,
};

/** A node that was announced may be the stored rest of a turn that was stopped here. */
function settleStopped(present: OpenConversation, node: Node): void {
  for (const turn of turnsOf(present.id)) {
    if (turn.state.value !== 'stopping' || turn.anchor.value !== node.parent) continue;
    present.stored(node);
    turn.anchor.value = node.id;
    if (node.role === 'user') turn.asked.value = null;
    else drop(turn);
    return;
  }
}

/** How turns are answered, as the settings say. */
export function options(): NewTurn {
  const { model, sampling, effort, systemPrompt } = settings.value;
  const turn: NewTurn = logprobOptions(model ?? models.value[0]?.id ?? null);
  if (model !== null && models.value.some((known) => known.id === model)) turn.model = model;
  if (Object.keys(sampling).length > 0) turn.sampling = { ...sampling };
  if (effort !== null) turn.reasoning_effort = effort;
  if (systemPrompt.trim() !== '') turn.system_prompt = systemPrompt;
  const tools = namedTools(usedTools(open.value?.info.value ?? null));
  if (tools.length > 0) turn.tools = tools;
  return turn;
}

/** What is sent instead of a text alone: messages with media or results of tools, approvals, or a prompt of the library. */
export type Instead = Pick<NewTurn, 'messages' | 'prompt' | 'approvals' | 'tools'>;

/** Sends a text, or something `instead`, after the line that is shown. A first one begins a conversation. */
export async function send(text: string, instead: Instead | null = null): Promise<boolean> {
  const present = open.value;
  if (text.trim() === '' && instead === null) return false;
  if (!present) return sendFirst(text, instead);
  const at = present.at.value;
  if (present.state.value !== 'ready' || turnsAt(present.id, at).some((turn) => turn.state.value !== 'failed'))
    return false;
  for (const failed of turnsAt(present.id, at)) drop(failed);
  start(client, present.id, at, text, { ...options(), node: at ?? '', ...(instead ?? { text }) }, listeners);
  return true;
}

async function sendFirst(text: string, instead: Instead | null): Promise<boolean> {
  const first = text.trim().split('\n')[0] ?? '';
  const name = first.length > 60 ? `${first.slice(0, 59).trimEnd()}…` : first;
  try {
    const turn = { ...options(), node: '', ...(instead ?? { text }) };
    const tools = turn.tools && { [TOOLS]: toolsOfNew.value };
    const conversation = await client.create({ metadata: { title: name, ...tools } });
    toolsOfNew.value = {};
    putConversation(conversation);
    start(client, conversation.id, null, text, turn, listeners);
    keepDraft('new', null, '');
    visit({ conversation: conversation.id });
    return true;
  } catch (error) {
    fail(error);
    return false;
  }
}

/** Answers the question at or before a node again. The present reply stays. */
export function regenerate(id: string): void {
  const present = open.value;
  if (!present) return;
  let node = present.tree.get(id);
  while (node && node.role !== 'user') node = present.tree.get(node.parent);
  if (!node) return;
  present.show(node.id, false);
  start(client, present.id, node.id, null, { ...options(), action: 'retry', node: node.id }, listeners);
}

/** Answers a node once more, in a way of its own, such as with the beginning of the reply. */
export function answer(parent: string | null, request: NewTurn): void {
  const present = open.value;
  if (!present) return;
  present.show(parent, false);
  const whole: NewTurn = { ...options(), ...request, node: parent ?? '' };
  start(client, present.id, parent, null, whole, listeners);
}

/** Sends another text instead of a message, which stays as another branch. */
export function resend(id: string, text: string): void {
  const present = open.value;
  const node = present?.tree.get(id);
  if (!present || !node || text.trim() === '') return;
  edited.value = null;
  present.show(node.parent, false);
  start(client, present.id, node.parent, text, { ...options(), action: 'edit', node: id, text }, listeners);
}

/** Tries a turn that failed once more. */
export function again(turn: RunningTurn): void {
  drop(turn);
  start(client, turn.conversation, turn.anchor.value, turn.asked.value, turn.request, listeners);
}

export function stopAll(): void {
  const present = open.value;
  if (present) for (const turn of turnsOf(present.id)) stop(turn);
}

/** Shows the version of a message `step` further; without a message, of the last fork of the line. */
export function toSibling(step: number, id: string | null = null): void {
  const present = open.value;
  if (!present) return;
  const path = present.line.value.map((node) => node.id);
  const focused = id ?? present.focused.value;
  const until = focused !== null && path.includes(focused) ? path.slice(0, path.indexOf(focused) + 1) : path;
  const fork = id ?? nearestFork(present.tree, until);
  const other = fork === null ? null : siblingAt(present.tree, fork, step);
  if (other === null) return;
  present.show(leafBelow(present.tree, other, present.remembered));
  present.focused.value = other;
  present.sought.value = { id: other };
}

/** Ends the line at a node, so that the next message begins a branch there. */
export function branchAt(id: string | null): void {
  open.value?.show(id);
  if (open.value) open.value.focused.value = id;
  focusOn('composer');
}

export function toHead(): void {
  const present = open.value;
  if (present?.head.value) present.goTo(present.head.value);
}

export async function renameConversation(id: string, name: string): Promise<void> {
  try {
    const changed = await client.changeMetadata(id, { title: name.trim() === '' ? null : name.trim() });
    putConversation(changed);
    if (open.value?.id === id) open.value.info.value = changed;
  } catch (error) {
    fail(error);
  }
}

/** Deletes a conversation, which can be undone for some seconds. */
export function removeConversation(id: string, name: string): void {
  hideConversation(id, true);
  if (open.value?.id === id) visit({});
  const run = (keepalive: boolean) => {
    client.remove(id, keepalive).then(
      () => dropConversation(id),
      (error: unknown) => {
        hideConversation(id, false);
        fail(error);
      },
    );
  };
  doLater(words.value.removed(name), run, () => hideConversation(id, false));
}

/** Removes a message with all that follows it, which can be undone for some seconds. */
export function prune(id: string): void {
  const present = open.value;
  const node = present?.tree.get(id);
  if (!present || !node) return;
  const ids = present.tree.below(id);
  const nodes = ids.map((below) => present.tree.get(below)).filter((known) => known !== undefined);
  const before = present.at.value;
  const isShown = before !== null && ids.includes(before);
  if (isShown) {
    present.show(node.parent);
    present.focused.value = node.parent;
  }
  present.hide(ids);
  const undo = () => {
    present.unhide(ids);
    // Another window may have removed it for good meanwhile.
    if (before === null || present.tree.get(before)) present.show(before);
    if (isShown && present.tree.get(id)) present.goTo(id);
  };
  const run = (keepalive: boolean) => {
    const pruned = keepalive ? Promise.resolve() : present.moveHead();
    void pruned
      .then(() => (keepalive ? undefined : keepRemoved(present.id, nodes)))
      .then(() => client.prune(present.id, id, keepalive))
      .catch((error: unknown) => {
        // Another window has removed it already.
        if (error instanceof ApiError && error.status === 404) return;
        present.unhide(ids);
        fail(error);
      });
  };
  doLater(words.value.pruned(ids.length), run, undo);
}

export async function setLabel(id: string, label: string): Promise<void> {
  const present = open.value;
  if (!present) return;
  try {
    await present.note(() => client.label(present.id, id, label.trim()));
  } catch (error) {
    fail(error);
  }
}

export async function setBookmark(id: string, name: string): Promise<void> {
  const present = open.value;
  if (!present || name.trim() === '') return;
  try {
    await present.note(() => client.bookmark(present.id, name.trim(), id));
  } catch (error) {
    fail(error);
  }
}

export async function removeBookmark(name: string): Promise<void> {
  const present = open.value;
  if (!present) return;
  try {
    await present.note(() => client.removeBookmark(present.id, name));
  } catch (error) {
    fail(error);
  }
}

/** Sets a bookmark with a name of its own, or removes those of the message. */
export async function toggleBookmark(id: string): Promise<void> {
  const present = open.value;
  const node = present?.tree.get(id);
  if (!present || !node) return;
  try {
    const names = node.bookmarks;
    for (const name of names) await present.note(() => client.removeBookmark(present.id, name));
    if (names.length === 0) await present.note(() => client.bookmark(present.id, `mark-${id.slice(-6)}`, id));
  } catch (error) {
    fail(error);
  }
}

export async function fork(id: string): Promise<void> {
  const present = open.value;
  if (!present) return;
  try {
    const copy = await client.fork(present.id, id);
    putConversation(copy);
    visit({ conversation: copy.id });
    notify(words.value.forked);
  } catch (error) {
    fail(error);
  }
}

const ENDINGS: Record<string, string> = {
  markdown: 'md',
  alloquy: 'json',
  openai: 'json',
  dataknobs: 'json',
  chatml: 'txt',
};
export const FORMATS = ['alloquy', 'markdown', 'openai', 'chatml', 'dataknobs'] as const;

/** Saves a conversation as a file. What the format leaves out is said. */
export async function exportAs(id: string, format: string): Promise<void> {
  try {
    const document_ = await client.export(id, format);
    const address = URL.createObjectURL(new Blob([document_.document], { type: 'text/plain' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = `${id}.${ENDINGS[format] ?? 'txt'}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    if (document_.omitted.length > 0) notify(words.value.omitted(document_.omitted.join(', ')));
  } catch (error) {
    fail(error);
  }
}

export function moveFocus(step: number): void {
  const present = open.value;
  if (!present) return;
  const line = present.line.value;
  const at = line.findIndex((node) => node.id === present.focused.value);
  const from = at < 0 ? (step > 0 ? -1 : line.length) : at;
  const next = line[Math.max(0, Math.min(line.length - 1, from + step))];
  if (!next) return;
  present.focused.value = next.id;
  focusOn('line');
}

export function toggle(part: 'list' | 'panel'): void {
  set(part === 'list' ? { list: !settings.value.list } : { panel: !settings.value.panel });
}
