// What a long list does when it is scrolled, when its items grow, and when a place in it is wanted.
import { Heights } from './heights';

export type Place = 'near' | 'top';

/** How many pixels above and below what is seen are drawn too. */
const MARGIN = 600;
/** How near to the end counts as the end, in pixels. */
const END = 48;
/** How often a place is scrolled to, while the items above it are measured. */
const TRIES = 4;

export interface ScrollingOptions {
  gap: number;
  /** Whether it stays at its end when it grows. */
  sticks: boolean;
  draw: () => void;
  onEnd: (isAtEnd: boolean) => void;
  onNearEnd: () => void;
}

export class Scrolling {
  readonly heights: Heights;
  readonly observer: ResizeObserver | null;
  element: HTMLElement | null = null;
  #indexes: ReadonlyMap<string, number> = new Map();
  #scroll = 0;
  #height = 800;
  #isAtEnd = true;
  /** By how much the place moves, because items above it have another height than was assumed. */
  #shift = 0;
  #sought: { key: string; place: Place; tries: number } | null = null;

  constructor(public options: ScrollingOptions) {
    this.heights = new Heights(options.gap);
    const isThere = typeof ResizeObserver !== 'undefined';
    this.observer = isThere ? new ResizeObserver((entries) => this.#resized(entries)) : null;
  }

  attach(element: HTMLElement | null): void {
    if (!element || element === this.element) return;
    this.element = element;
    this.#height = element.clientHeight || this.#height;
    this.observer?.observe(element);
  }

  /** Sets the items and their estimated heights. */
  reset(keys: readonly string[], estimates: readonly number[]): void {
    this.#indexes = new Map(keys.map((key, index) => [key, index]));
    this.heights.reset(keys, estimates);
  }

  indexOf(key: string | null | undefined): number | undefined {
    return key == null ? undefined : this.#indexes.get(key);
  }

  /** The items that are drawn: what is seen, what is near, and the one that is kept. */
  drawn(count: number, kept: number | undefined): number[] {
    const first = this.heights.at(Math.max(0, this.#scroll - MARGIN));
    const last = this.heights.at(this.#scroll + this.#height + MARGIN);
    const all: number[] = [];
    for (let index = first; index <= last && index < count; index += 1) all.push(index);
    if (kept !== undefined && kept < first) all.unshift(kept);
    if (kept !== undefined && kept > last) all.push(kept);
    return all;
  }

  #setAtEnd(isAtEnd: boolean): void {
    if (this.#isAtEnd === isAtEnd) return;
    this.#isAtEnd = isAtEnd;
    this.options.onEnd(isAtEnd);
  }

  #resized(entries: readonly ResizeObserverEntry[]): void {
    let isChanged = false;
    for (const entry of entries) {
      const target = entry.target as HTMLElement;
      if (target === this.element) {
        this.#height = target.clientHeight;
        isChanged = true;
      } else if (this.#measured(target, entry.borderBoxSize[0]?.blockSize ?? target.offsetHeight)) {
        isChanged = true;
      }
    }
    if (isChanged) this.options.draw();
  }

  /** Takes the height of an item. Returns whether it is another one than before. */
  #measured(item: HTMLElement, height: number): boolean {
    const key = item.dataset['key'] ?? '';
    const index = this.#indexes.get(key);
    if (index === undefined || height === 0) return false;
    const top = this.heights.top(index);
    const difference = this.heights.measure(key, index, height);
    if (top + height - difference <= this.#scroll) this.#shift += difference;
    return difference !== 0;
  }

  /** Scrolls to where the list is to be, after it was drawn. */
  place(): void {
    const { element } = this;
    if (!element) return;
    if (this.#sought) this.#seek(element, this.#sought);
    else if (this.#isAtEnd && this.options.sticks) element.scrollTop = element.scrollHeight;
    else if (this.#shift !== 0) element.scrollTop += this.#shift;
    this.#shift = 0;
    const isFar = Math.abs(this.#scroll - element.scrollTop) > MARGIN / 2;
    this.#scroll = element.scrollTop;
    if (isFar) this.options.draw();
  }

  #seek(element: HTMLElement, sought: { key: string; place: Place; tries: number }): void {
    const index = this.#indexes.get(sought.key);
    sought.tries -= 1;
    if (index === undefined || sought.tries <= 0) this.#sought = null;
    if (index === undefined) return;
    const top = this.heights.top(index);
    const bottom = this.heights.top(index + 1);
    const end = element.scrollTop + element.clientHeight;
    if (sought.place === 'near' && top >= element.scrollTop && bottom <= end) return;
    const isBelow = sought.place === 'near' && bottom > end && bottom - top < element.clientHeight;
    element.scrollTop = isBelow ? bottom - element.clientHeight : top;
  }

  scrolled(): void {
    const { element } = this;
    if (!element) return;
    const before = this.#scroll;
    this.#scroll = element.scrollTop;
    const rest = element.scrollHeight - element.scrollTop - element.clientHeight;
    this.#setAtEnd(rest < END);
    if (rest < 2 * MARGIN) this.options.onNearEnd();
    if (before === this.#scroll) return;
    // It was scrolled by hand: what was sought is not wanted any more.
    this.#sought = null;
    this.options.draw();
  }

  scrollTo(key: string, place: Place): void {
    this.#sought = { key, place, tries: TRIES };
    this.#setAtEnd(false);
    this.options.draw();
  }

  scrollToEnd(): void {
    this.#setAtEnd(true);
    this.place();
    this.options.draw();
  }
}
