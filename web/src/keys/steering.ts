// The commands that steer a conversation.
import { words, type Words } from '../language';
import { notices } from '../state/notices';
import { fork, open } from '../state/session';
import {
  compare,
  continueReply,
  dialog,
  hoist,
  rootOf,
  showAnswers,
  showGraph,
  toFork,
  type SteeringDialog,
} from '../state/steering';
import { set } from '../state/settings';
import { presentTab } from '../view/inspector';
import { register, type Command, type Group } from './map';

type Name = { [K in keyof Words]: Words[K] extends string ? K : never }[keyof Words];

function target(): string | null {
  const present = open.value;
  if (present?.state.value !== 'ready') return null;
  return present.focused.value ?? present.at.value;
}

const isReady = () => open.value?.state.value === 'ready';
const isReply = () => open.value?.tree.get(target())?.role === 'assistant';

function command(group: Group, name: Name, keys: readonly string[], run: (id: string) => void): Command {
  return {
    id: name,
    group,
    keys,
    label: () => words.value[name],
    when: () => target() !== null,
    run: () => {
      const id = target();
      if (id !== null) run(id);
    },
  };
}

function opens(kind: SteeringDialog['kind']): (id: string | null) => void {
  return (node) => {
    dialog.value = { kind, node };
  };
}

function showMarks(): void {
  set({ panel: true });
  presentTab.value = 'marks';
  requestAnimationFrame(() => {
    const first = document.querySelector<HTMLElement>('.marks button');
    (first ?? document.getElementById('tab-marks'))?.focus();
  });
}

/** What undoes the last thing that can be undone. */
function lastUndo(): (() => void) | null {
  return notices.value.findLast((notice) => notice.undo !== null)?.undo ?? null;
}

export function registerSteering(): void {
  register([
    command('steering', 'answers', ['a'], showAnswers),
    command('steering', 'compare', ['d'], compare),
    { ...command('steering', 'continueReply', ['o'], continueReply), when: isReply },
    command('steering', 'writeReply', ['w'], opens('write')),
    command('steering', 'score', ['s'], opens('score')),
    command('steering', 'fork', ['f'], (id) => void fork(id)),
    { ...command('steering', 'merge', ['Alt+m'], opens('merge')), when: isReady, run: () => opens('merge')(null) },
    {
      ...command('steering', 'removedBranches', ['u'], opens('removed')),
      when: isReady,
      run: () => opens('removed')(null),
    },
    {
      id: 'undo',
      group: 'general',
      keys: ['z', 'Mod+z'],
      label: () => words.value.undo,
      when: () => lastUndo() !== null,
      run: () => lastUndo()?.(),
    },
    command('tree', 'showGraph', ['g'], showGraph),
    command('tree', 'hoist', ['h'], hoist),
    {
      ...command('tree', 'unhoist', ['H'], () => hoist(null)),
      when: () => open.value !== null && rootOf(open.value) !== null,
    },
    command('tree', 'previousFork', ['{', 'Alt+ArrowUp'], () => toFork(-1)),
    command('tree', 'nextFork', ['}', 'Alt+ArrowDown'], () => toFork(1)),
    { ...command('tree', 'showBookmarks', ["'"], showMarks), when: isReady, run: showMarks },
  ]);
}
