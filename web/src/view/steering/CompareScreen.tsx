// Two branches beside each other: what they have in common, and then message by message with the words that differ.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Diff, Node } from '../../api/types';
import { isText } from '../../keys/dispatch';
import { actionOf } from '../../keys/screens';
import { when, words } from '../../language';
import { client } from '../../state/connection';
import type { OpenConversation } from '../../state/open';
import { route } from '../../state/route';
import { BETWEEN, showComparison, showLine } from '../../state/steering';
import { clean, cut, summary } from '../../text/plain';
import { leavesOf } from '../../tree/forks';
import { compareWords, type Change, type Piece } from '../../tree/words';
import { IconButton } from '../Button';
import { writer } from '../roles';
import { PlainText, shown } from '../Shown';
import { VirtualList, type ListHandle } from '../VirtualList';
import { Frame } from './Frame';

/** How many branches the lists offer. */
const MOST = 200;
/** How much of a message is compared. */
const LENGTH = 40_000;

function sidesOf(node: string | null): [string, string] | null {
  const [left, right] = (node ?? '').split(BETWEEN);
  return left && right ? [left, right] : null;
}

export function CompareScreen() {
  const sides = sidesOf(route.value.node);
  const text = words.value;
  return (
    <Frame
      name={text.compareTitle}
      class="compare-screen"
      tools={
        sides && <IconButton icon="again" label={text.compareSwap} onClick={() => showComparison(sides[1], sides[0])} />
      }
    >
      {(present) => {
        void present.version.value;
        if (!sides) return <p class="quiet padded">{text.compareNothing}</p>;
        return <Comparison present={present} left={sides[0]} right={sides[1]} />;
      }}
    </Frame>
  );
}

/** The branches that can be chosen: the newest, and the chosen one. */
function choices(present: OpenConversation, id: string): string[] {
  const leaves = leavesOf(present.tree).slice(0, MOST);
  return leaves.includes(id) ? leaves : [id, ...leaves];
}

interface SideProps {
  present: OpenConversation;
  label: string;
  id: string;
  choose: (id: string) => void;
}

function Side({ present, label, id, choose }: SideProps) {
  const named = (leaf: string) => {
    const node = present.tree.get(leaf);
    if (!node) return leaf;
    return `${node.label ? `${node.label}: ` : ''}${summary(node.text, 60) || '…'} (${when(node.created_at)})`;
  };
  return (
    <div class="compare-side">
      <label>
        <span class="hidden">{label}</span>
        <select aria-label={label} value={id} onChange={(event) => choose(event.currentTarget.value)}>
          {choices(present, id).map((leaf) => (
            <option key={leaf} value={leaf}>
              {named(leaf)}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="button small"
        onClick={() => {
          present.goTo(id);
          showLine(id);
        }}
      >
        {words.value.compareGo}
      </button>
    </div>
  );
}

interface Row {
  key: string;
  left: Node | null;
  right: Node | null;
  isSame: boolean;
}

function rowsOf(diff: Diff): Row[] {
  const rows: Row[] = [];
  for (let at = 0; at < Math.max(diff.left.length, diff.right.length); at += 1) {
    const left = diff.left[at] ?? null;
    const right = diff.right[at] ?? null;
    const isSame = left !== null && right !== null && left.role === right.role && left.text === right.text;
    rows.push({ key: String(at), left, right, isSame });
  }
  return rows;
}

function Comparison({ present, left, right }: { present: OpenConversation; left: string; right: string }) {
  const text = words.value;
  const diff = useSignal<Diff | null>(null);
  const error = useSignal<string | null>(null);
  const isMarked = useSignal(true);
  const at = useSignal(0);
  const handle = useRef<ListHandle | null>(null);
  const area = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const end = new AbortController();
    error.value = null;
    client.diff(present.id, left, right, end.signal).then(
      (found) => {
        diff.value = found;
        at.value = 0;
      },
      (why: unknown) => {
        if (!end.signal.aborted) error.value = why instanceof Error ? why.message : String(why);
      },
    );
    return () => end.abort();
  }, [present.id, left, right]);
  const found = diff.value;
  const rows = useMemo(() => (found ? rowsOf(found) : []), [found]);

  const go = (step: number) => {
    let next = at.value + step;
    while (rows[next]?.isSame) next += step;
    if (!rows[next]) next = at.value;
    at.value = next;
    handle.current?.scrollTo(String(next), 'near');
    requestAnimationFrame(() => area.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isText(event.target)) return;
    const action = actionOf('compare', event);
    if (action === null) return;
    if (action === 'words') isMarked.value = !isMarked.value;
    else go(action === 'next' ? 1 : -1);
    event.preventDefault();
    event.stopPropagation();
  };
  const isReady = found !== null;
  useEffect(() => {
    if (isReady) area.current?.querySelector<HTMLElement>('[data-row="0"]')?.focus();
  }, [isReady]);

  return (
    <div class="compare" ref={area} onKeyDown={onKeyDown}>
      <div class="compare-head">
        <Side present={present} label={text.compareLeft} id={left} choose={(id) => showComparison(id, right)} />
        <Side present={present} label={text.compareRight} id={right} choose={(id) => showComparison(left, id)} />
      </div>
      <div class="compare-tools">
        <span class="quiet">{found && text.compareCommon(found.common.length)}</span>
        <span class="space" />
        <IconButton icon="up" label={text.comparePrevious} keys="p" onClick={() => go(-1)} />
        <IconButton icon="end" label={text.compareNext} keys="n" onClick={() => go(1)} />
        <label class="check">
          <input
            type="checkbox"
            checked={isMarked.value}
            onChange={(event) => (isMarked.value = event.currentTarget.checked)}
          />
          {text.compareChanges}
        </label>
      </div>
      {error.value !== null && (
        <p class="failure" role="alert">
          {error.value}
        </p>
      )}
      {found && rows.length === 0 && <p class="quiet padded">{text.compareSame}</p>}
      {rows.length > 0 && (
        <VirtualList
          items={rows}
          keyOf={(row) => row.key}
          estimate={(row) =>
            60 + Math.ceil(Math.max(row.left?.text.length ?? 0, row.right?.text.length ?? 0) / 60) * 24
          }
          role="list"
          label={text.compareTitle}
          kept={String(at.value)}
          handle={(given) => {
            handle.current = given;
          }}
          render={(row, index) => (
            <ComparedRow
              row={row}
              index={index}
              count={rows.length}
              isFocused={index === at.value}
              isMarked={isMarked.value}
            />
          )}
        />
      )}
    </div>
  );
}

interface RowProps {
  row: Row;
  index: number;
  count: number;
  isFocused: boolean;
  isMarked: boolean;
}

function ComparedRow({ row, index, count, isFocused, isMarked }: RowProps) {
  const left = row.left ? clean(cut(row.left.text, LENGTH)) : '';
  const right = row.right ? clean(cut(row.right.text, LENGTH)) : '';
  const isCompared = isMarked && row.left !== null && row.right !== null && !row.isSame;
  const diff = useMemo(() => (isCompared ? compareWords(left, right) : null), [isCompared, left, right]);
  const text = words.value;
  return (
    <div
      class="compare-row"
      role="listitem"
      data-row={index}
      data-same={row.isSame}
      tabIndex={isFocused ? 0 : -1}
      aria-label={text.compareRow(index + 1, count)}
    >
      <Cell node={row.left} pieces={diff?.pieces ?? null} hidden="added" />
      <Cell node={row.right} pieces={diff?.pieces ?? null} hidden="removed" />
      {diff?.isCoarse && <p class="quiet compare-note">{text.compareCoarse}</p>}
    </div>
  );
}

interface CellProps {
  node: Node | null;
  pieces: readonly Piece[] | null;
  hidden: Change;
}

function Cell({ node, pieces, hidden }: CellProps) {
  const text = words.value;
  if (!node) return <div class="compare-cell none quiet">{text.compareOnly}</div>;
  return (
    <div class="compare-cell">
      <div class="compare-writer">
        <span class="writer">{writer(node)}</span>
        {node.label && <span class="chip label">{node.label}</span>}
      </div>
      {pieces === null ? (
        <PlainText text={clean(node.text)} />
      ) : (
        <div class="plain" dir="auto">
          {pieces
            .filter((piece) => piece.change !== hidden)
            .map((piece, index) => (
              <Marked key={index} piece={piece} />
            ))}
        </div>
      )}
    </div>
  );
}

function Marked({ piece }: { piece: Piece }) {
  if (piece.change === 'same') return <>{shown(piece.text)}</>;
  return piece.change === 'removed' ? <del>{shown(piece.text)}</del> : <ins>{shown(piece.text)}</ins>;
}
