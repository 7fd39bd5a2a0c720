// What is done with the tree as a whole: forks one after the other, a part of it alone, the graph, a comparison.
import { words } from '../../language';
import type { OpenConversation } from '../../state/open';
import { compare, hoist, rootOf, showGraph, toFork } from '../../state/steering';
import { IconButton } from '../Button';

export function TreeTools({ conversation }: { conversation: OpenConversation }) {
  const text = words.value;
  const root = rootOf(conversation);
  const target = conversation.focused.value ?? conversation.at.value;
  return (
    <div class="tree-tools" role="toolbar" aria-label={text.tree}>
      <IconButton icon="up" label={text.previousFork} keys="{" onClick={() => toFork(-1)} />
      <IconButton icon="end" label={text.nextFork} keys="}" onClick={() => toFork(1)} />
      <span class="space" />
      <IconButton
        icon="branch"
        label={root === null ? text.hoist : text.unhoist}
        keys="h"
        pressed={root !== null}
        disabled={root === null && target === null}
        onClick={() => hoist(root === null ? target : null)}
      />
      <IconButton
        icon="compare"
        label={text.compare}
        keys="d"
        disabled={target === null}
        onClick={() => target !== null && compare(target)}
      />
      <IconButton icon="graph" label={text.showGraph} keys="g" onClick={() => showGraph()} />
    </div>
  );
}

/** Says that only a part of the tree is shown. */
export function HoistNote({ conversation }: { conversation: OpenConversation }) {
  if (rootOf(conversation) === null) return null;
  return (
    <p class="hoist-note">
      {words.value.hoistedNote}{' '}
      <button type="button" class="text-button" onClick={() => hoist(null)}>
        {words.value.unhoist}
      </button>
    </p>
  );
}
