// Where the runs of a tree are drawn: a branch beside the other, as near as their widths allow.
import { flextree } from 'd3-flextree';
import type { Run } from './runs';

/** The measures of a card, and the gaps between cards and between branches, in pixels at full size. */
export const CARD = { width: 196, height: 46, gap: 14, aside: 26, fork: 44 } as const;

export interface Placed {
  run: Run;
  /** The middle of its cards, and the top of the first one. */
  x: number;
  y: number;
  height: number;
}

export interface Layout {
  runs: readonly Placed[];
  byKey: ReadonlyMap<string, Placed>;
  left: number;
  right: number;
  bottom: number;
}

function heightOf(run: Run): number {
  return run.nodes.length * (CARD.height + CARD.gap) - CARD.gap;
}

/** How far from the top a card of a run is. */
export function cardTop(placed: Placed, index: number): number {
  return placed.y + index * (CARD.height + CARD.gap);
}

function depthOf(top: Run): number {
  let deepest = 0;
  const waiting: [Run, number][] = [[top, 1]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [run, depth] = next;
    deepest = Math.max(deepest, depth);
    for (const child of run.children) waiting.push([child, depth + 1]);
  }
  return deepest;
}

/** flextree calls itself for each level: deeper trees are placed more simply. */
const DEEPEST = 1500;

/** Places each leaf beside the one before it, and each fork over the middle of its branches. */
function simply(top: Run): Map<Run, { x: number; y: number }> {
  const order: Run[] = [];
  const places = new Map<Run, { x: number; y: number }>([[top, { x: 0, y: 0 }]]);
  const waiting = [top];
  for (let run = waiting.pop(); run; run = waiting.pop()) {
    order.push(run);
    const below = (places.get(run)?.y ?? 0) + Math.max(0, heightOf(run)) + CARD.fork;
    for (const child of run.children) places.set(child, { x: 0, y: below });
    for (let at = run.children.length - 1; at >= 0; at -= 1) {
      const child = run.children[at];
      if (child) waiting.push(child);
    }
  }
  let next = 0;
  for (const run of order) {
    const place = places.get(run);
    if (!place || run.children.length > 0) continue;
    place.x = next;
    next += CARD.width + CARD.aside;
  }
  for (const run of order.reverse()) {
    const place = places.get(run);
    const first = run.children[0] && places.get(run.children[0]);
    const final = run.children[run.children.length - 1];
    const last = final && places.get(final);
    if (place && first && last) place.x = (first.x + last.x) / 2;
  }
  return places;
}

function closely(top: Run): Map<Run, { x: number; y: number }> {
  const place = flextree<Run>({
    children: (run) => run.children,
    nodeSize: (node) => [CARD.width + CARD.aside, Math.max(0, heightOf(node.data)) + CARD.fork],
  });
  const root = place(place.hierarchy(top));
  const places = new Map<Run, { x: number; y: number }>();
  root.each((node) => places.set(node.data, { x: node.x, y: node.y }));
  return places;
}

export function layOut(top: Run): Layout {
  const places = depthOf(top) > DEEPEST ? simply(top) : closely(top);
  const runs: Placed[] = [];
  const byKey = new Map<string, Placed>();
  let left = Infinity;
  let right = -Infinity;
  let bottom = 0;
  for (const [run, { x, y }] of places) {
    const placed = { run, x, y, height: Math.max(0, heightOf(run)) };
    runs.push(placed);
    byKey.set(run.key, placed);
    left = Math.min(left, x - CARD.width / 2);
    right = Math.max(right, x + CARD.width / 2);
    bottom = Math.max(bottom, y + placed.height);
  }
  return { runs, byKey, left, right, bottom };
}
