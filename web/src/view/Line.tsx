// The line that is shown: the path to a node as a conversation. Only what is seen of it is drawn.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Node } from '../api/types';
import { words } from '../language';
import type { OpenConversation } from '../state/open';
import { moveFocus, wantsFocus } from '../state/session';
import { running, turnsAt, type RunningTurn } from '../state/turns';
import { leafBelow } from '../tree/path';
import { Icon } from './Icon';
import { isText } from '../keys/dispatch';
import { Message, Preface } from './Message';
import { Pending } from './Pending';
import { VirtualList, type ListHandle } from './VirtualList';

type Entry = { key: string; node: Node } | { key: string; turn: RunningTurn } | { key: 'preface' } | { key: 'follows' };

const estimates = new WeakMap<Node, number>();

/** About how high a message is before it was measured. */
function estimate(entry: Entry): number {
  if (!('node' in entry)) return 64;
  const { node } = entry;
  const known = estimates.get(node);
  if (known !== undefined) return known;
  const text = node.text.slice(0, 20_000);
  const lines = Math.ceil(text.length / 80) + text.split('\n').length - 1;
  const height = 88 + 26 * Math.max(1, lines);
  estimates.set(node, height);
  return height;
}

export function Line({ conversation }: { conversation: OpenConversation }) {
  const handle = useRef<ListHandle | null>(null);
  const isAtEnd = useSignal(true);
  const line = conversation.line.value;
  const at = conversation.at.value;
  void running.value;
  const turns = turnsAt(conversation.id, at);
  const follows = turns.length === 0 ? conversation.tree.children(at).length : 0;
  const hasPreface = (conversation.info.value?.preface.messages?.length ?? 0) > 0;
  const entries = useMemo(() => {
    const all: Entry[] = hasPreface ? [{ key: 'preface' }] : [];
    for (const node of line) all.push({ key: node.id, node });
    for (const turn of turns) all.push({ key: `turn-${turn.key}`, turn });
    if (follows > 0) all.push({ key: 'follows' });
    return all;
  }, [line, turns.map((turn) => turn.key).join(), follows, hasPreface]);

  const { sought } = conversation;
  useEffect(() => {
    const wanted = sought.value;
    if (!wanted) return;
    sought.value = null;
    handle.current?.scrollTo(wanted.id, 'near');
    focusMessage(handle.current, conversation, wanted.id);
  }, [sought.value]);
  useEffect(() => {
    if (turns.length > 0) handle.current?.scrollToEnd();
  }, [turns.length > 0 ? turns[0]?.key : null]);
  useEffect(() => {
    if (wantsFocus.value?.part !== 'line') return;
    wantsFocus.value = null;
    const id = conversation.focused.value ?? at;
    if (id) {
      conversation.focused.value = id;
      handle.current?.scrollTo(id, 'near');
      focusMessage(handle.current, conversation, id, true);
    }
  }, [wantsFocus.value]);

  return (
    <div class="line">
      <VirtualList
        items={entries}
        keyOf={(entry) => entry.key}
        estimate={estimate}
        kept={conversation.focused.value}
        sticks
        role="log"
        isFocusable
        label={words.value.log}
        handle={(given) => {
          handle.current = given;
        }}
        onEnd={(is) => {
          isAtEnd.value = is;
        }}
        onKeyDown={(event) => {
          if (isText(event.target) || event.altKey || event.ctrlKey || event.metaKey) return;
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          const isMessage = event.target instanceof Element && event.target.matches('.message, .virtual');
          if (step === undefined || !isMessage) return;
          event.preventDefault();
          moveFocus(step);
        }}
        render={(entry) => {
          if ('node' in entry) return <Message node={entry.node} />;
          if ('turn' in entry) return <Pending turn={entry.turn} />;
          return entry.key === 'preface' ? <Preface /> : <Follows conversation={conversation} count={follows} />;
        }}
      />
      {!isAtEnd.value && (
        <button type="button" class="to-end" onClick={() => handle.current?.scrollToEnd()}>
          <Icon name="end" />
          {words.value.toBottom}
        </button>
      )}
    </div>
  );
}

/** For how many frames a message is waited for that is not drawn yet. */
const FRAMES = 20;

/**
 * Gives the focus to a message once it is drawn, if the focus is in the list already or `isForced`. Where the next key has led to another
 * message meanwhile, it is that one's.
 */
function focusMessage(
  handle: ListHandle | null,
  conversation: OpenConversation,
  id: string,
  isForced = false,
  frames = FRAMES,
): void {
  requestAnimationFrame(() => {
    const list = handle?.element;
    if (!list || conversation.focused.value !== id) return;
    const isInside = list.contains(document.activeElement);
    if ((!isInside && !isForced) || isText(document.activeElement)) return;
    const message = list.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`);
    if (message) message.focus({ preventScroll: true });
    else if (frames > 0) focusMessage(handle, conversation, id, isForced, frames - 1);
  });
}

function Follows({ conversation, count }: { conversation: OpenConversation; count: number }) {
  return (
    <p class="follows">
      {words.value.followed(count)}{' '}
      <button
        type="button"
        class="text-button"
        onClick={() => conversation.show(leafBelow(conversation.tree, conversation.at.value, conversation.remembered))}
      >
        {words.value.toEnd}
      </button>
    </p>
  );
}
