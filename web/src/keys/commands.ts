// The commands of the conversation and of the page.
import { words, type Words } from '../language';
import { visit } from '../state/route';
import {
  branchAt,
  edited,
  focusOn,
  moveFocus,
  open,
  prune,
  regenerate,
  stopAll,
  toSibling,
  toggle,
  toggleBookmark,
} from '../state/session';
import { turnsOf } from '../state/turns';
import { askLabel } from '../view/actions';
import { inspect } from '../view/inspector/inspect';
import { overlay } from '../view/overlays';
import { register, type Command } from './map';

type Name = { [K in keyof Words]: Words[K] extends string ? K : never }[keyof Words];

const isReady = () => open.value?.state.value === 'ready';

/** The message that commands are for: the one with the focus, or else the last one. */
function target(): string | null {
  const present = open.value;
  if (!present || !isReady()) return null;
  return present.focused.value ?? present.at.value;
}

const hasTarget = () => target() !== null;

/** Runs something with the message that commands are for. */
function withTarget(run: (id: string) => void): () => void {
  return () => {
    const id = target();
    if (id !== null) run(id);
  };
}

function named(name: Name): () => string {
  return () => words.value[name];
}

function edit(id: string): void {
  const present = open.value;
  let node = present?.tree.get(id);
  while (node && node.role !== 'user') node = present?.tree.get(node.parent);
  if (!present || !node) return;
  present.focused.value = node.id;
  present.sought.value = { id: node.id };
  edited.value = node.id;
}

function label(id: string): void {
  const node = open.value?.tree.get(id);
  if (node) askLabel(node);
}

const isRunning = () => open.value !== null && turnsOf(open.value.id).length > 0;

const general: Command[] = [
  {
    id: 'palette',
    group: 'general',
    keys: ['Mod+k'],
    label: named('palette'),
    run: () => {
      overlay.value = 'palette';
    },
  },
  {
    id: 'help',
    group: 'general',
    keys: ['?', 'Mod+/'],
    label: named('help'),
    run: () => {
      overlay.value = 'help';
    },
  },
  {
    id: 'settings',
    group: 'general',
    keys: ['Mod+,'],
    label: named('settings'),
    run: () => {
      overlay.value = 'settings';
    },
  },
  { id: 'search', group: 'general', keys: ['/', 'Mod+Shift+f'], label: named('search'), run: () => focusOn('search') },
  {
    id: 'new',
    group: 'general',
    keys: ['n'],
    label: named('newConversation'),
    run: () => {
      visit({});
      focusOn('composer');
    },
  },
  {
    id: 'composer',
    group: 'general',
    keys: ['i', 'Mod+i'],
    label: named('focusComposer'),
    run: () => focusOn('composer'),
  },
];

const line: Command[] = [
  { id: 'next', group: 'line', keys: ['j'], label: named('nextMessage'), when: isReady, run: () => moveFocus(1) },
  {
    id: 'previous',
    group: 'line',
    keys: ['k'],
    label: named('previousMessage'),
    when: isReady,
    run: () => moveFocus(-1),
  },
  { id: 'older', group: 'line', keys: ['['], label: named('previous'), when: isReady, run: () => toSibling(-1) },
  { id: 'newer', group: 'line', keys: [']'], label: named('next'), when: isReady, run: () => toSibling(1) },
  { id: 'edit', group: 'line', keys: ['e'], label: named('editTitle'), when: hasTarget, run: withTarget(edit) },
  {
    id: 'regenerate',
    group: 'line',
    keys: ['r'],
    label: named('regenerate'),
    when: hasTarget,
    run: withTarget(regenerate),
  },
  { id: 'branch', group: 'line', keys: ['c'], label: named('branchHere'), when: hasTarget, run: withTarget(branchAt) },
  {
    id: 'bookmark',
    group: 'line',
    keys: ['b'],
    label: named('bookmark'),
    when: hasTarget,
    run: withTarget((id) => void toggleBookmark(id)),
  },
  { id: 'label', group: 'line', keys: ['l'], label: named('setLabel'), when: hasTarget, run: withTarget(label) },
  { id: 'prune', group: 'line', keys: ['Delete'], label: named('prune'), when: hasTarget, run: withTarget(prune) },
  { id: 'stop', group: 'line', keys: ['Escape', 'Mod+.'], label: named('stop'), when: isRunning, run: stopAll },
];

const tree: Command[] = [
  { id: 'tree', group: 'tree', keys: ['t'], label: named('focusTree'), when: isReady, run: () => focusOn('tree') },
  { id: 'line', group: 'tree', keys: ['m'], label: named('focusLine'), when: isReady, run: () => focusOn('line') },
  {
    id: 'prompt',
    group: 'tree',
    keys: ['p'],
    label: named('showPrompt'),
    when: hasTarget,
    run: withTarget((id) => inspect('prompt', id)),
  },
  {
    id: 'tokens',
    group: 'tree',
    keys: ['x'],
    label: named('showTokens'),
    when: hasTarget,
    run: withTarget((id) => inspect('reply', id)),
  },
  {
    id: 'details',
    group: 'tree',
    keys: ['v'],
    label: named('showDetails'),
    when: hasTarget,
    run: withTarget((id) => inspect('details', id)),
  },
  { id: 'list', group: 'tree', keys: ['Mod+b'], label: named('showList'), run: () => toggle('list') },
  { id: 'panel', group: 'tree', keys: ['Mod+Shift+b'], label: named('showPanel'), run: () => toggle('panel') },
];

export function registerAll(): void {
  register([...general, ...line, ...tree]);
}
