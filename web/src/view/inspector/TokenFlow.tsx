// A long row of tokens, each with its text and its id. Only what is seen is drawn; the arrow keys go from one to the next.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { chunkAt, chunksOf, visible, type AnyToken, type Chunk } from '../../text/tokens';
import { shown } from '../Shown';
import { VirtualList, type ListHandle } from '../VirtualList';

export interface TokenFlowProps {
  tokens: readonly AnyToken[];
  label: string;
  describedBy: string;
  hasIds: boolean;
  /** The classes of a token, which say its colour and pattern. */
  classOf: (index: number) => string;
  /** What a screen reader says besides the text and the id. */
  nameOf: (index: number) => string;
  /** Changes when the two functions answer otherwise. */
  look: string;
  active: number;
  onActive: (index: number) => void;
  onEnter?: (index: number) => void;
  /** A token before which a mark is drawn, with its words. */
  mark?: { index: number; text: string } | null;
  /** Grows to ask for the focus. */
  wanted?: number;
}

/** About how wide a token is, and how high a line. */
const WIDTH = 46;
const HEIGHT = 38;

export function TokenFlow(props: TokenFlowProps) {
  const { tokens, active, hasIds } = props;
  const handle = useRef<ListHandle | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const chunks = useMemo(() => chunksOf(tokens.length, (index) => tokens[index]?.text ?? ''), [tokens]);
  const kept = chunks[chunkAt(chunks, active)];

  const go = (index: number) => {
    const to = Math.max(0, Math.min(tokens.length - 1, index));
    const chunk = chunks[chunkAt(chunks, to)];
    if (!chunk) return;
    latest.current.onActive(to);
    handle.current?.scrollTo(String(chunk.begin), 'near');
    focusToken(handle, to, 4);
  };
  useEffect(() => {
    if (props.wanted) go(latest.current.active);
  }, [props.wanted]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const to = target(event.key, latest.current.active, tokens.length, handle.current?.element ?? null);
    if (to !== null) go(to);
    else if (event.key === 'Enter' && props.onEnter) props.onEnter(latest.current.active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onClick = (event: MouseEvent) => {
    const found = (event.target as HTMLElement).closest<HTMLElement>('[data-token]')?.dataset['token'];
    if (found === undefined) return;
    latest.current.onActive(Number(found));
    focusToken(handle, Number(found), 1);
  };

  return (
    <div class="token-flow" data-ids={hasIds} onClick={onClick}>
      <VirtualList
        items={chunks}
        keyOf={(chunk) => String(chunk.begin)}
        estimate={(chunk) => Math.ceil(((chunk.end - chunk.begin) * WIDTH) / 300) * HEIGHT}
        role="listbox"
        label={props.label}
        describedBy={props.describedBy}
        kept={kept ? String(kept.begin) : null}
        onKeyDown={onKeyDown}
        handle={(given) => {
          handle.current = given;
        }}
        render={(chunk) => (
          <Tokens
            chunk={chunk}
            tokens={tokens}
            flow={props}
            active={active >= chunk.begin && active < chunk.end ? active : -1}
            look={`${props.look} ${hasIds}`}
          />
        )}
      />
    </div>
  );
}

interface TokensProps {
  chunk: Chunk;
  tokens: readonly AnyToken[];
  flow: TokenFlowProps;
  active: number;
  look: string;
}

function Tokens({ chunk, tokens, flow, active, look }: TokensProps) {
  // The same elements again are not compared by Preact, so moving draws one chunk or two.
  return useMemo(() => {
    const drawn = [];
    for (let index = chunk.begin; index < chunk.end; index += 1) {
      const token = tokens[index];
      if (!token) continue;
      if (flow.mark?.index === index) {
        drawn.push(
          <span key="mark" class="token-mark" role="presentation">
            {flow.mark.text}
          </span>,
        );
      }
      const text = visible(token);
      drawn.push(
        <span
          key={index}
          class={`token ${flow.classOf(index)}`}
          role="option"
          data-token={index}
          data-id={token.id ?? ''}
          tabIndex={index === active ? 0 : -1}
          aria-selected={index === active}
          aria-setsize={tokens.length}
          aria-posinset={index + 1}
          aria-label={`${text}, ${token.id ?? ''}, ${flow.nameOf(index)}`}
        >
          <span class="token-text">{shown(text)}</span>
          {flow.hasIds && <span class="token-id">{token.id ?? '–'}</span>}
        </span>,
      );
      if (token.text?.includes('\n')) drawn.push(<br key={`line-${index}`} />);
    }
    return (
      <div class="tokens" role="presentation">
        {drawn}
      </div>
    );
  }, [chunk, tokens, active, look]);
}

/** Focuses a token once it is drawn. */
function focusToken(handle: { current: ListHandle | null }, index: number, tries: number): void {
  requestAnimationFrame(() => {
    const found = handle.current?.element?.querySelector<HTMLElement>(`[data-token="${index}"]`);
    if (found) found.focus();
    else if (tries > 0) focusToken(handle, index, tries - 1);
  });
}

/** Returns where a key goes; `null` for other keys. */
function target(key: string, at: number, count: number, list: HTMLElement | null): number | null {
  const places: Record<string, number> = {
    ArrowRight: at + 1,
    ArrowLeft: at - 1,
    Home: 0,
    End: count - 1,
    PageDown: at + 100,
    PageUp: at - 100,
  };
  const place = places[key];
  if (place !== undefined) return place;
  if (key === 'ArrowDown') return onLine(list, at, 1) ?? at + 10;
  if (key === 'ArrowUp') return onLine(list, at, -1) ?? at - 10;
  return null;
}

/** Returns the token above or below a token. */
function onLine(list: HTMLElement | null, at: number, step: number): number | null {
  const from = list?.querySelector(`[data-token="${at}"]`)?.getBoundingClientRect();
  if (!list || !from) return null;
  const middle = from.left + from.width / 2;
  let best: { index: number; line: number; off: number } | null = null;
  for (const element of list.querySelectorAll<HTMLElement>('[data-token]')) {
    const index = Number(element.dataset['token']);
    if ((index - at) * step <= 0) continue;
    const box = element.getBoundingClientRect();
    const line = (box.top - from.top) * step;
    if (line < from.height / 2) continue;
    const off = Math.abs(box.left + box.width / 2 - middle);
    if (!best || line < best.line - 2 || (line < best.line + 2 && off < best.off)) best = { index, line, off };
  }
  return best?.index ?? null;
}
