// A long list of which only what is seen is drawn. Items have any height, and may grow while they are seen.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks';
import { Heights } from './heights';

export interface ListHandle {
  scrollTo: (key: string, place: 'near' | 'top') => void;
  scrollToEnd: () => void;
  readonly element: HTMLElement | null;
}

export interface VirtualListProps<T> {
  items: readonly T[];
  keyOf: (item: T) => string;
  estimate: (item: T) => number;
  render: (item: T, index: number) => ComponentChildren;
  /** Whether all items have the estimated height, so that none is measured. */
  isUniform?: boolean;
  gap?: number;
  /** An item that is drawn even if it is not seen, because it has the focus. */
  kept?: string | null;
  /** Whether the list stays at its end when it grows. */
  sticks?: boolean;
  class?: string;
  role?: 'log' | 'tree' | 'list' | 'listbox';
  label: string;
  /** Whether the list itself takes the focus, so that keys scroll it. */
  isFocusable?: boolean;
  describedBy?: string;
  handle?: (handle: ListHandle) => void;
  onEnd?: (isAtEnd: boolean) => void;
  onNearEnd?: () => void;
  onKeyDown?: (event: KeyboardEvent) => void;
}

/** How many pixels above and below what is seen are drawn too. */
const MARGIN = 600;
/** How near to the end counts as the end. */
const END = 48;

interface State {
  element: HTMLDivElement | null;
  scroll: number;
  height: number;
  isAtEnd: boolean;
  /** What the scrolled place changes by, because items above it have another height than was assumed. */
  shift: number;
  sought: { key: string; place: 'near' | 'top'; tries: number } | null;
  observer: ResizeObserver | null;
}

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { items, keyOf, estimate, isUniform = false, gap = 0, sticks = false } = props;
  const [, draw] = useReducer<number, undefined>((count) => count + 1, 0);
  const heights = useMemo(() => new Heights(gap), [gap]);
  const keys = useMemo(() => items.map(keyOf), [items]);
  const indexes = useMemo(() => new Map(keys.map((key, index) => [key, index])), [keys]);
  const state = useRef<State>({
    element: null,
    scroll: 0,
    height: 800,
    isAtEnd: true,
    shift: 0,
    sought: null,
    observer: null,
  }).current;
  const latest = useRef({ indexes, props });
  latest.current = { indexes, props };
  useMemo(() => heights.reset(keys, items.map(estimate)), [keys, heights]);

  const setAtEnd = (isAtEnd: boolean) => {
    if (state.isAtEnd === isAtEnd) return;
    state.isAtEnd = isAtEnd;
    latest.current.props.onEnd?.(isAtEnd);
  };

  const place = () => {
    const { element, sought } = state;
    if (!element) return;
    if (sought) {
      const index = latest.current.indexes.get(sought.key);
      if (index !== undefined) {
        seek(element, heights, index, sought.place);
        sought.tries -= 1;
      }
      if (index === undefined || sought.tries <= 0) state.sought = null;
    } else if (state.isAtEnd && latest.current.props.sticks) {
      element.scrollTop = element.scrollHeight;
    } else if (state.shift !== 0) {
      element.scrollTop += state.shift;
    }
    state.shift = 0;
    if (Math.abs(state.scroll - element.scrollTop) > MARGIN / 2) draw(undefined);
    state.scroll = element.scrollTop;
  };

  useMemo(() => {
    if (typeof ResizeObserver === 'undefined') return;
    state.observer = new ResizeObserver((entries) => {
      let isChanged = false;
      for (const entry of entries) {
        const target = entry.target as HTMLElement;
        if (target === state.element) {
          state.height = target.clientHeight;
          isChanged = true;
          continue;
        }
        const key = target.dataset['key'] ?? '';
        const index = latest.current.indexes.get(key);
        const height = entry.borderBoxSize[0]?.blockSize ?? target.offsetHeight;
        if (index === undefined || height === 0) continue;
        const top = heights.top(index);
        const difference = heights.measure(key, index, height);
        if (difference === 0) continue;
        isChanged = true;
        if (top + height - difference <= state.scroll) state.shift += difference;
      }
      if (isChanged) draw(undefined);
    });
  }, [heights]);

  useLayoutEffect(place);
  useEffect(() => () => state.observer?.disconnect(), []);
  useEffect(() => {
    props.handle?.({
      scrollTo: (key, wanted) => {
        state.sought = { key, place: wanted, tries: isUniform ? 1 : 4 };
        setAtEnd(false);
        draw(undefined);
      },
      scrollToEnd: () => {
        setAtEnd(true);
        draw(undefined);
        place();
      },
      get element() {
        return state.element;
      },
    });
  }, []);

  const onScroll = () => {
    const { element } = state;
    if (!element) return;
    const before = state.scroll;
    state.scroll = element.scrollTop;
    setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < END);
    if (element.scrollHeight - element.scrollTop - element.clientHeight < 2 * MARGIN) props.onNearEnd?.();
    if (Math.abs(before - state.scroll) > 0) draw(undefined);
  };

  const first = heights.at(Math.max(0, state.scroll - MARGIN));
  const last = heights.at(state.scroll + state.height + MARGIN);
  const drawn: number[] = [];
  for (let index = first; index <= last && index < items.length; index += 1) drawn.push(index);
  const kept = props.kept == null ? undefined : indexes.get(props.kept);
  if (kept !== undefined && kept < first) drawn.unshift(kept);
  if (kept !== undefined && kept > last) drawn.push(kept);

  return (
    <div
      ref={(element) => {
        if (element && element !== state.element) {
          state.element = element;
          state.height = element.clientHeight || state.height;
          state.observer?.observe(element);
        }
      }}
      class={`virtual ${props.class ?? ''}`}
      role={props.role}
      aria-label={props.label}
      aria-live={props.role === 'log' ? 'off' : undefined}
      aria-describedby={props.describedBy}
      tabIndex={props.isFocusable ? 0 : -1}
      onScroll={onScroll}
      onKeyDown={props.onKeyDown}
      data-sticks={sticks}
    >
      <div class="virtual-all" role="presentation" style={{ height: `${heights.total}px` }}>
        {drawn.map((index) => {
          const item = items[index] as T;
          const key = keys[index] ?? '';
          return (
            <Item key={key} name={key} top={heights.top(index)} observer={isUniform ? null : state.observer}>
              {props.render(item, index)}
            </Item>
          );
        })}
      </div>
    </div>
  );
}

function seek(element: HTMLElement, heights: Heights, index: number, place: 'near' | 'top'): void {
  const top = heights.top(index);
  const bottom = heights.top(index + 1);
  const isSeen = top >= element.scrollTop && bottom <= element.scrollTop + element.clientHeight;
  if (place === 'near' && isSeen) return;
  if (place === 'near' && bottom > element.scrollTop + element.clientHeight && bottom - top < element.clientHeight) {
    element.scrollTop = bottom - element.clientHeight;
  } else {
    element.scrollTop = top;
  }
}

interface ItemProps {
  name: string;
  top: number;
  observer: ResizeObserver | null;
  children: ComponentChildren;
}

function Item({ name, top, observer, children }: ItemProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const present = element.current;
    if (!present || !observer) return undefined;
    observer.observe(present);
    return () => observer.unobserve(present);
  }, [observer]);
  return (
    <div
      ref={element}
      class="virtual-item"
      role="presentation"
      data-key={name}
      style={{ transform: `translateY(${top}px)` }}
    >
      {children}
    </div>
  );
}
