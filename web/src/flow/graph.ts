// A flow as a graph: read from its diagram, and laid out in layers.

export interface FlowState {
  id: string;
  name: string;
  /** What it does, such as `wait`. */
  kind: string;
}

export interface Transition {
  from: string;
  to: string;
  label: string;
}

/** A flow, or one within it. */
export interface FlowGraph {
  /** `null` for the outer one. */
  name: string | null;
  states: FlowState[];
  transitions: Transition[];
  start: string | null;
  /** The states at which it may end. */
  ends: Set<string>;
}

const STATE = /^state "(.*)" as (\S+)$/;
const FLOW = /^state "(.*)" as (\S+) \{$/;
const ARROW = /^(\S+) --> (\S+)(?: : (.*))?$/;
const TITLE = /^(.*) \(([a-z]+)(?: .*)?\)$/;

function empty(name: string | null): FlowGraph {
  return { name, states: [], transitions: [], start: null, ends: new Set() };
}

function addArrow(graph: FlowGraph, from: string, to: string, label: string): void {
  if (from === '[*]') graph.start = to;
  else if (to === '[*]') graph.ends.add(from);
  else graph.transitions.push({ from, to, label });
}

/** Reads the state diagram that the server draws of a flow. */
export function readGraphs(mermaid: string): FlowGraph[] {
  const outer = empty(null);
  const graphs = [outer];
  let present = outer;
  for (const line of mermaid.split('\n').map((text) => text.trim())) {
    const flow = FLOW.exec(line);
    const state = STATE.exec(line);
    const arrow = ARROW.exec(line);
    if (flow) {
      present = empty(flow[1] ?? '');
      graphs.push(present);
    } else if (line === '}') {
      present = outer;
    } else if (state) {
      const [, title = '', id = ''] = state;
      const [, name = title, kind = ''] = TITLE.exec(title) ?? [];
      present.states.push({ id, name, kind });
    } else if (arrow) {
      addArrow(present, arrow[1] ?? '', arrow[2] ?? '', arrow[3] ?? '');
    }
  }
  return graphs;
}

export interface Placed extends FlowState {
  x: number;
  y: number;
}

export interface Drawn extends Transition {
  /** The path of the arrow, as SVG writes it. */
  path: string;
  /** Where its label is. */
  x: number;
  y: number;
}

export interface Layout {
  states: Placed[];
  transitions: Drawn[];
  /** Where the drawing begins. */
  left: number;
  width: number;
  height: number;
}

export const WIDTH = 150;
export const HEIGHT = 44;
const GAP_X = 28;
const GAP_Y = 52;
const MARGIN = 16;
/** How far an arrow that returns goes around the states. */
const AROUND = 34;

/** Transitions that return to a state on the way to where they begin: what is a circle has no order. */
function returning(graph: FlowGraph, begin: string | undefined): Set<Transition> {
  const back = new Set<Transition>();
  const done = new Set<string>();
  const way = new Set<string>();
  const visit = (id: string) => {
    way.add(id);
    for (const transition of graph.transitions) {
      if (transition.from !== id) continue;
      if (way.has(transition.to)) back.add(transition);
      else if (!done.has(transition.to)) visit(transition.to);
    }
    way.delete(id);
    done.add(id);
  };
  if (begin !== undefined) visit(begin);
  for (const state of graph.states) if (!done.has(state.id)) visit(state.id);
  return back;
}

/** The layer of each state: after all states that lead to it. */
function layersOf(graph: FlowGraph): string[][] {
  const ids = graph.states.map((state) => state.id);
  const back = returning(graph, graph.start ?? ids[0]);
  const forward = graph.transitions.filter((transition) => !back.has(transition));
  const layer = new Map<string, number>(ids.map((id) => [id, 0]));
  // Without circles, as many rounds as there are states are enough.
  for (let round = 0; round < ids.length; round += 1) {
    let isSame = true;
    for (const { from, to } of forward) {
      const wanted = (layer.get(from) ?? 0) + 1;
      if (!layer.has(to) || wanted <= (layer.get(to) ?? 0)) continue;
      layer.set(to, wanted);
      isSame = false;
    }
    if (isSame) break;
  }
  const layers: string[][] = [];
  for (const id of ids) (layers[layer.get(id) ?? 0] ??= []).push(id);
  return layers.filter((row) => row.length > 0);
}

/** Orders each layer by where the states before it are, so that few arrows cross. */
function untangled(layers: string[][], graph: FlowGraph): string[][] {
  const places = new Map<string, number>();
  return layers.map((ids) => {
    const wanted = new Map<string, number>();
    ids.forEach((id, index) => {
      const above = graph.transitions.filter(({ to, from }) => to === id && places.has(from));
      const sum = above.reduce((total, { from }) => total + (places.get(from) ?? 0), 0);
      wanted.set(id, above.length === 0 ? index : sum / above.length);
    });
    const sorted = [...ids].sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
    sorted.forEach((id, index) => places.set(id, index - (sorted.length - 1) / 2));
    return sorted;
  });
}

interface Sides {
  left: number;
  right: number;
}

function arrow(from: Placed, to: Placed, rank: number, sides: Sides): Omit<Drawn, keyof Transition> {
  if (from.id === to.id || to.y <= from.y || to.y - from.y > HEIGHT + GAP_Y) {
    // Around the states, on the nearer side: back, to itself, or past a layer.
    const isLeft = from.x + WIDTH / 2 < (sides.left + sides.right) / 2;
    const far = AROUND * (0.4 + rank * 0.5);
    const out = isLeft ? sides.left - far : sides.right + far;
    const [y1, y2] = [from.y + HEIGHT / 2, to.y + HEIGHT / 2 - (from.id === to.id ? 12 : 0)];
    const [x1, x2] = isLeft ? [from.x, to.x] : [from.x + WIDTH, to.x + WIDTH];
    const path = `M${x1} ${y1} C${out} ${y1} ${out} ${y1} ${out} ${(y1 + y2) / 2} S${out} ${y2} ${x2} ${y2}`;
    return { path, x: out, y: (y1 + y2) / 2 };
  }
  const [x1, y1] = [from.x + WIDTH / 2, from.y + HEIGHT];
  const [x2, y2] = [to.x + WIDTH / 2, to.y];
  const middle = (y1 + y2) / 2;
  return { path: `M${x1} ${y1} C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`, x: (x1 + x2) / 2, y: middle };
}

/** Gives each state a place, and each transition a path. */
export function layOut(graph: FlowGraph): Layout {
  const layers = untangled(layersOf(graph), graph);
  const widest = Math.max(1, ...layers.map((ids) => ids.length));
  const inner = widest * WIDTH + (widest - 1) * GAP_X;
  const placed = new Map<string, Placed>();
  layers.forEach((ids, row) => {
    const width = ids.length * WIDTH + (ids.length - 1) * GAP_X;
    ids.forEach((id, column) => {
      const state = graph.states.find((entry) => entry.id === id);
      const x = (inner - width) / 2 + column * (WIDTH + GAP_X);
      if (state) placed.set(id, { ...state, x, y: MARGIN + row * (HEIGHT + GAP_Y) });
    });
  });
  const transitions: Drawn[] = [];
  let around = 0;
  for (const transition of graph.transitions) {
    const [from, to] = [placed.get(transition.from), placed.get(transition.to)];
    if (!from || !to) continue;
    const drawn = arrow(from, to, around, { left: 0, right: inner });
    if (drawn.x > inner || drawn.x < 0) around += 1;
    transitions.push({ ...transition, ...drawn });
  }
  // A label is in the middle of its arrow, and has about six pixels a letter.
  const reach = transitions.map(({ x, label }) => [x - 3.2 * label.length, x + 3.2 * label.length] as const);
  const left = Math.floor(Math.min(0, ...reach.map(([from]) => from)) - MARGIN);
  const right = Math.ceil(Math.max(inner, ...reach.map(([, to]) => to)) + MARGIN);
  const height = layers.length * (HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN;
  return { states: [...placed.values()], transitions, left, width: right - left, height };
}
