// A long list of which only what is seen is drawn. Items have any height, and may grow while they are seen.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks';
import { Scrolling, type Place } from './scrolling';

export interface ListHandle {
  scrollTo: (key: string, place: Place) => void;
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

/** What scrolls the list, with the present items and callbacks. */
function useScrolling<T>(props: VirtualListProps<T>, keys: readonly string[]): Scrolling {
  const [, draw] = useReducer<number, undefined>((count) => count + 1, 0);
  const options = {
    gap: props.gap ?? 0,
    sticks: props.sticks ?? false,
    draw: () => draw(undefined),
    onEnd: (isAtEnd: boolean) => props.onEnd?.(isAtEnd),
    onNearEnd: () => props.onNearEnd?.(),
  };
  const kept = useRef<Scrolling | null>(null);
  kept.current ??= new Scrolling(options);
  const scrolling = kept.current;
  scrolling.options = options;
  useMemo(() => scrolling.reset(keys, props.items.map(props.estimate)), [keys]);
  useLayoutEffect(() => scrolling.place());
  useEffect(() => {
    props.handle?.({
      scrollTo: (key, place) => scrolling.scrollTo(key, place),
      scrollToEnd: () => scrolling.scrollToEnd(),
      get element() {
        return scrolling.element;
      },
    });
    return () => scrolling.observer?.disconnect();
  }, []);
  return scrolling;
}

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { items } = props;
  const keys = useMemo(() => items.map(props.keyOf), [items]);
  const scrolling = useScrolling(props, keys);
  const observer = props.isUniform ? null : scrolling.observer;
  return (
    <div
      ref={(element) => scrolling.attach(element)}
      class={`virtual ${props.class ?? ''}`}
      role={props.role}
      aria-label={props.label}
      aria-live={props.role === 'log' ? 'off' : undefined}
      aria-describedby={props.describedBy}
      tabIndex={props.isFocusable ? 0 : -1}
      onScroll={() => scrolling.scrolled()}
      onKeyDown={props.onKeyDown}
    >
      <div class="virtual-all" role="presentation" style={{ height: `${scrolling.heights.total}px` }}>
        {scrolling.drawn(items.length, scrolling.indexOf(props.kept)).map((index) => {
          const key = keys[index] ?? '';
          return (
            <Item key={key} name={key} top={scrolling.heights.top(index)} observer={observer}>
              {props.render(items[index] as T, index)}
            </Item>
          );
        })}
      </div>
    </div>
  );
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
