// The whole tree as an outline, with the keys that the ARIA Authoring Practices give a tree.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Node } from '../api/types';
import { words } from '../language';
import type { OpenConversation } from '../state/open';
import { open, wantsFocus } from '../state/session';
import { rootOf } from '../state/steering';
import { plainName, summary } from '../text/plain';
import { foldsOver, outline, type Row } from '../tree/outline';
import { Icon } from './Icon';
import { wordless, writer } from './roles';
import { HoistNote, TreeTools } from './steering/TreeTools';
import { VirtualList, type ListHandle } from './VirtualList';

/** The height of a row in pixels, which style/outline.css has too. */
const HEIGHT = 32;
/** Deeper levels are not shown further to the right. */
const DEEPEST = 10;

export function Outline() {
  const present = open.value;
  if (!present) return <p class="quiet padded">{words.value.treeEmpty}</p>;
  if (present.state.value === 'loading') return <p class="quiet padded">{words.value.loading}</p>;
  if (present.state.value !== 'ready') return null;
  void present.version.value;
  if (present.tree.size === 0) return <p class="quiet padded">{words.value.treeEmpty}</p>;
  return <Rows key={present.id} conversation={present} />;
}

function Rows({ conversation }: { conversation: OpenConversation }) {
  const handle = useRef<ListHandle | null>(null);
  const folded = conversation.folded.value;
  const version = conversation.version.value;
  const root = rootOf(conversation);
  const rows = useMemo(() => outline(conversation.tree, folded, root), [version, folded, root, conversation]);
  const places = useMemo(() => new Map(rows.map((row, index) => [row.id, index])), [rows]);
  const at = conversation.at.value;
  const line = conversation.line.value;
  const path = useMemo(() => new Set(line.map((node) => node.id)), [line]);
  const active = useSignal<string | null>(conversation.focused.value ?? at);
  const activeId = active.value !== null && places.has(active.value) ? active.value : (rows[0]?.id ?? null);

  const focused = conversation.focused.value;
  useEffect(() => {
    if (focused === null) return;
    active.value = focused;
    const over = foldsOver(conversation.tree, conversation.folded.value, focused);
    for (const id of over) conversation.fold(id, false);
    handle.current?.scrollTo(focused, 'near');
  }, [focused]);
  useEffect(() => {
    if (wantsFocus.value?.part !== 'tree') return;
    wantsFocus.value = null;
    if (activeId) move(activeId);
  }, [wantsFocus.value]);

  const move = (id: string) => {
    active.value = id;
    handle.current?.scrollTo(id, 'near');
    requestAnimationFrame(() => {
      handle.current?.element
        ?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`)
        ?.focus({ preventScroll: true });
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey || activeId === null) return;
    if (!pressed(event.key, { rows, index: places.get(activeId) ?? 0, conversation, move })) return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="outline">
      <TreeTools conversation={conversation} />
      <HoistNote conversation={conversation} />
      <VirtualList
        items={rows}
        keyOf={(row) => row.id}
        estimate={() => HEIGHT}
        isUniform
        role="tree"
        label={words.value.tree}
        describedBy="outline-help"
        kept={activeId}
        onKeyDown={onKeyDown}
        handle={(given) => {
          handle.current = given;
        }}
        render={(row) => {
          const node = conversation.tree.get(row.id);
          if (!node) return null;
          return (
            <OutlineRow
              row={row}
              node={node}
              isActive={row.id === activeId}
              isShown={path.has(row.id)}
              isSelected={row.id === focused}
              isHead={conversation.head.value === row.id}
              onSelect={() => {
                active.value = row.id;
                conversation.goTo(row.id);
              }}
              onFold={() => conversation.fold(row.id, !row.isFolded)}
            />
          );
        }}
      />
      <p id="outline-help" class="hidden">
        {words.value.treeHelp}
      </p>
    </div>
  );
}

interface Pressed {
  rows: readonly Row[];
  /** The row with the focus. */
  index: number;
  conversation: OpenConversation;
  move: (id: string) => void;
}

/** Does what a key of a tree does. Returns whether it is one. */
function pressed(key: string, { rows, index, conversation, move }: Pressed): boolean {
  const row = rows[index];
  if (!row) return false;
  const below = rows[index + 1];
  switch (key) {
    case 'ArrowDown':
      if (below) move(below.id);
      return true;
    case 'ArrowUp':
      move(rows[index - 1]?.id ?? row.id);
      return true;
    case 'Home':
      move(rows[0]?.id ?? row.id);
      return true;
    case 'End':
      move(rows[rows.length - 1]?.id ?? row.id);
      return true;
    case 'ArrowRight':
      if (row.isFolded) conversation.fold(row.id, false);
      else if (row.isFork && below) move(below.id);
      return true;
    case 'ArrowLeft':
      if (row.isFork && !row.isFolded) conversation.fold(row.id, true);
      else if (row.under !== null) move(row.under);
      return true;
    case 'Enter':
    case ' ':
      conversation.goTo(row.id);
      return true;
    case '*':
      for (const other of rows) if (other.under === row.under && other.isFolded) conversation.fold(other.id, false);
      return true;
    default:
      return false;
  }
}

interface RowProps {
  row: Row;
  node: Node;
  isActive: boolean;
  isShown: boolean;
  isSelected: boolean;
  isHead: boolean;
  onSelect: () => void;
  onFold: () => void;
}

function OutlineRow({ row, node, isActive, isShown, isSelected, isHead, onSelect, onFold }: RowProps) {
  const present = words.value;
  const text = (node.label === null ? null : plainName(node.label)) ?? (summary(node.text, 90) || wordless(node));
  const isMarked = node.bookmarks.length > 0;
  const parts = [`${writer(node)}: ${text}`];
  if (row.alternative > 0) parts.push(present.siblings(row.alternative, row.alternatives));
  if (isMarked) parts.push(present.bookmark);
  if (isHead) parts.push(present.isHead);
  if (node.status !== 'complete') parts.push(present.interrupted);
  return (
    <div
      class={`row ${node.role}`}
      role="treeitem"
      data-row={row.id}
      data-shown={isShown}
      tabIndex={isActive ? 0 : -1}
      aria-level={row.level + 1}
      aria-posinset={row.place}
      aria-setsize={row.places}
      aria-expanded={row.isFork ? !row.isFolded : undefined}
      aria-selected={isSelected}
      aria-label={parts.join(', ')}
      style={{ paddingInlineStart: `${8 + 14 * Math.min(row.level, DEEPEST)}px` }}
      onClick={onSelect}
    >
      <span
        class="fold"
        data-folded={row.isFolded}
        onClick={(event) => {
          if (!row.isFork) return;
          event.stopPropagation();
          onFold();
        }}
      >
        {row.isFork ? <Icon name={row.isFolded ? 'right' : 'down'} /> : <span class="dot" />}
      </span>
      {row.alternative > 0 && (
        <span class="alternative">
          {row.alternative}/{row.alternatives}
        </span>
      )}
      <span class={node.label ? 'row-text labelled' : 'row-text'}>{text}</span>
      {isMarked && <Icon name="bookmark" />}
      {isHead && <span class="chip head">{present.isHead}</span>}
    </div>
  );
}
