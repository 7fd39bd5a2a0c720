// What of a tree is drawn: cards where they can be read, bars where they cannot, and nothing that is not seen.
import { CARD, cardTop, type Layout, type Placed } from '../../tree/layout';
import type { Bounds } from './camera';

/** From which size on cards have texts, and from which on there are cards at all. */
export const READABLE = 0.5;
export const CARDS = 0.25;

export interface DrawnCard {
  id: string;
  x: number;
  y: number;
}

export interface DrawnBar {
  key: string;
  x: number;
  top: number;
  bottom: number;
}

export interface DrawnEdge {
  key: string;
  fromX: number;
  fromY: number;
  toX: number;
  toY: number;
}

export interface Drawing {
  cards: DrawnCard[];
  bars: DrawnBar[];
  edges: DrawnEdge[];
}

const PITCH = CARD.height + CARD.gap;

export function boundsOf(placed: Placed, index: number): Bounds {
  const top = cardTop(placed, index);
  const left = placed.x - CARD.width / 2;
  return { left, right: left + CARD.width, top, bottom: top + CARD.height };
}

function isSeen(placed: Placed, window: Bounds): boolean {
  const { x, y, height } = placed;
  const isAside = x + CARD.width / 2 < window.left || x - CARD.width / 2 > window.right;
  return !isAside && y <= window.bottom && y + height >= window.top;
}

function edgeOf(placed: Placed, parent: Placed, window: Bounds): DrawnEdge | null {
  const fromY = parent.y + parent.height;
  const isAside =
    Math.max(placed.x, parent.x) < window.left ||
    Math.min(placed.x, parent.x) > window.right ||
    placed.y < window.top ||
    fromY > window.bottom;
  if (isAside) return null;
  return { key: placed.run.key, fromX: parent.x, fromY, toX: placed.x, toY: placed.y };
}

/** Draws what a window sees at a size. Where parts are nearer than two pixels, one stands for all, except those of `kept`. */
export function draw(layout: Layout, window: Bounds, scale: number, kept: ReadonlySet<string>): Drawing {
  const drawing: Drawing = { cards: [], bars: [], edges: [] };
  const places = new Set<string>();
  const isFree = (kind: string, x: number, y: number) => {
    const key = `${kind}${Math.round((x * scale) / 2)} ${Math.round((y * scale) / 4)}`;
    if (places.has(key)) return false;
    places.add(key);
    return true;
  };
  for (const placed of layout.runs) {
    const { run } = placed;
    const parent = run.parent === null ? undefined : layout.byKey.get(run.parent.key);
    const edge = parent && run.parent?.nodes.length !== 0 ? edgeOf(placed, parent, window) : null;
    const isKept = kept.has(run.key);
    if (edge && (scale >= CARDS || isKept || isFree('e', placed.x, placed.y))) drawing.edges.push(edge);
    if (run.nodes.length === 0 || !isSeen(placed, window)) continue;
    if (scale < CARDS) {
      const isBar = isKept || isFree('b', placed.x, placed.y);
      if (isBar) drawing.bars.push({ key: run.key, x: placed.x, top: placed.y, bottom: placed.y + placed.height });
      continue;
    }
    const first = Math.max(0, Math.floor((window.top - placed.y) / PITCH));
    const last = Math.min(run.nodes.length - 1, Math.floor((window.bottom - placed.y) / PITCH));
    for (let index = first; index <= last; index += 1) {
      const id = run.nodes[index];
      if (id !== undefined) drawing.cards.push({ id, x: placed.x - CARD.width / 2, y: cardTop(placed, index) });
    }
    // The line through the cards.
    if (last > first || first > 0 || last < run.nodes.length - 1) {
      const top = Math.max(placed.y, cardTop(placed, Math.max(0, first - 1)));
      const bottom = Math.min(placed.y + placed.height, cardTop(placed, last + 1));
      drawing.edges.push({ key: `${run.key} line`, fromX: placed.x, fromY: top, toX: placed.x, toY: bottom });
    }
  }
  return drawing;
}
