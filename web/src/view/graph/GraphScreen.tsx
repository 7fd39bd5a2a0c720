// The tree as a picture: moved and zoomed by mouse, by touch and by keys. Only what is seen is drawn.
import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { words } from '../../language';
import type { OpenConversation } from '../../state/open';
import { hoist, rootOf, showLine } from '../../state/steering';
import { siblingAt } from '../../tree/siblings';
import { layOut, type Layout } from '../../tree/layout';
import { pathTo } from '../../tree/path';
import { runsOf } from '../../tree/runs';
import { IconButton } from '../Button';
import { Frame } from '../steering/Frame';
import { HoistNote } from '../steering/TreeTools';
import { centred, fitted, seen, showing, zoomed, type Bounds, type Camera, type Size } from './camera';
import { boundsOf, draw } from './drawing';
import { moves } from './moves';
import { Picture, cardId } from './Picture';

export function GraphScreen() {
  return (
    <Frame name={words.value.graphTitle} class="graph-screen">
      {(present) => <Graph key={present.id} present={present} />}
    </Frame>
  );
}

/** Where a node is in a layout. */
function placeOf(layout: Layout, runByNode: ReadonlyMap<string, [string, number]>, id: string | null): Bounds | null {
  const [key, index] = (id === null ? undefined : runByNode.get(id)) ?? [];
  const placed = key === undefined ? undefined : layout.byKey.get(key);
  return placed && index !== undefined ? boundsOf(placed, index) : null;
}

function Graph({ present }: { present: OpenConversation }) {
  const version = present.version.value;
  const root = rootOf(present);
  const layout = useMemo(() => {
    const top = runsOf(present.tree, root);
    return top === null ? null : layOut(top);
  }, [version, root, present]);
  if (!layout) return <p class="quiet padded">{words.value.treeEmpty}</p>;
  return <Canvas present={present} layout={layout} root={root} />;
}

interface CanvasProps {
  present: OpenConversation;
  layout: Layout;
  root: string | null;
}

function Canvas({ present, layout, root }: CanvasProps) {
  const text = words.value;
  const area = useRef<HTMLDivElement>(null);
  const size = useSignal<Size>({ width: 1000, height: 700 });
  const camera = useSignal<Camera | null>(null);
  const focused = present.focused.value ?? present.at.value;
  const at = present.at.value;
  const runByNode = useMemo(() => {
    const places = new Map<string, [string, number]>();
    for (const { run } of layout.runs) run.nodes.forEach((id, index) => places.set(id, [run.key, index]));
    return places;
  }, [layout]);
  const path = useMemo(() => new Set(pathTo(present.tree, at)), [at, layout]);
  const pathRuns = useMemo(() => {
    const keys = new Set<string>();
    for (const id of path) keys.add(runByNode.get(id)?.[0] ?? '');
    return keys;
  }, [path, runByNode]);
  const active = focused !== null && runByNode.has(focused) ? focused : (layout.runs[0]?.run.nodes[0] ?? null);
  const place = placeOf(layout, runByNode, active);
  const all: Bounds = { left: layout.left, right: layout.right, top: 0, bottom: layout.bottom };

  const state = useRef({ place, all, active, layout });
  // Where the tree changed, what has the focus stays where it is seen.
  const before = state.current;
  if (before.layout !== layout && before.active === active && before.place && place && camera.value) {
    const { x, y, scale } = camera.value;
    camera.value = { x: x + place.left - before.place.left, y: y + place.top - before.place.top, scale };
  }
  state.current = { place, all, active, layout };

  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return undefined;
    const measure = () => {
      size.value = { width: Math.max(1, element.clientWidth), height: Math.max(1, element.clientHeight) };
      if (camera.value !== null) return;
      const whole = fitted(state.current.all, size.value);
      const readable = { ...whole, scale: Math.max(whole.scale, 0.7) };
      const known = state.current.place;
      camera.value = whole.scale >= 0.5 || known === null ? whole : centred(readable, known, size.value);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.focus({ preventScroll: true });
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (place && camera.value) camera.value = showing(camera.value, place, size.value);
  }, [active]);
  // A part that is shown alone is shown as a whole.
  const shownRoot = useRef(root);
  useEffect(() => {
    if (shownRoot.current === root) return;
    shownRoot.current = root;
    camera.value = fitted(all, size.value);
  }, [root]);

  const middle = () => ({ x: size.value.width / 2, y: size.value.height / 2 });
  const zoom = (factor: number) => {
    if (camera.value) camera.value = zoomed(camera.value, factor, middle());
  };
  const showAll = () => {
    camera.value = fitted(all, size.value);
  };
  const showActive = () => {
    if (place && camera.value) {
      const scale = Math.max(camera.value.scale, 0.8);
      camera.value = centred({ ...camera.value, scale }, place, size.value);
    }
  };
  useEffect(() => (area.current ? moves(area.current, camera) : undefined), []);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== area.current) return;
    if (!keyDone(event)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const keyDone = (event: KeyboardEvent): boolean => {
    const { key } = event;
    const arrows: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const arrow = arrows[key];
    if (arrow && event.shiftKey && camera.value) {
      const { x, y, scale } = camera.value;
      camera.value = { x: x + (80 * arrow[0]) / scale, y: y + (80 * arrow[1]) / scale, scale };
      return true;
    }
    if (arrow || key === 'Home' || key === 'End') {
      const next = neighbour(present, active, key, runByNode);
      if (next !== null) present.focused.value = next;
      return true;
    }
    if (key === '+' || key === '=') zoom(1.25);
    else if (key === '-' || key === '_') zoom(0.8);
    else if (key === '0') showAll();
    else if (key === '.') showActive();
    else if (key === 'Enter' && active !== null) show(active);
    else return false;
    return true;
  };
  const show = (id: string) => {
    present.goTo(id);
    showLine(id);
  };

  const drawing = useComputed(() => {
    const present_ = camera.value;
    return present_ === null ? null : { ...present_, size: size.value };
  }).value;
  const drawn = drawing && draw(layout, seen(drawing, drawing.size), drawing.scale, pathRuns);
  return (
    <div class="graph">
      <div class="graph-tools" role="toolbar" aria-label={text.graph}>
        <IconButton icon="plus" label={text.zoomIn} keys="+" onClick={() => zoom(1.25)} />
        <IconButton icon="minus" label={text.zoomOut} keys="-" onClick={() => zoom(0.8)} />
        <IconButton icon="fit" label={text.zoomAll} keys="0" onClick={showAll} />
        <IconButton icon="target" label={text.zoomFocus} keys="." onClick={showActive} />
        <IconButton
          icon="branch"
          label={root === null ? text.hoist : text.unhoist}
          pressed={root !== null}
          onClick={() => hoist(root === null ? active : null)}
        />
      </div>
      <HoistNote conversation={present} />
      <div
        ref={area}
        class="graph-area"
        role="tree"
        tabIndex={0}
        aria-label={text.graphTitle}
        aria-describedby="graph-help"
        aria-activedescendant={active === null ? undefined : cardId(active)}
        onKeyDown={onKeyDown}
      >
        {drawing && drawn && (
          <Picture
            present={present}
            camera={drawing}
            drawing={drawn}
            path={path}
            pathRuns={pathRuns}
            active={active}
            place={place}
            onSelect={(id) => {
              present.focused.value = id;
            }}
            onShow={show}
          />
        )}
      </div>
      <p id="graph-help" class="quiet graph-help">
        {text.graphHelp}
      </p>
    </div>
  );
}

/** The message that an arrow key goes to. */
function neighbour(
  present: OpenConversation,
  id: string | null,
  key: string,
  drawn: ReadonlyMap<string, unknown>,
): string | null {
  const { tree, remembered } = present;
  const node = tree.get(id);
  if (!node) return null;
  let next: string | null | undefined;
  if (key === 'ArrowUp') next = node.parent;
  else if (key === 'ArrowLeft') next = siblingAt(tree, node.id, -1);
  else if (key === 'ArrowRight') next = siblingAt(tree, node.id, 1);
  else if (key === 'ArrowDown') {
    const children = tree.children(node.id);
    const last = remembered.get(node.id);
    next = last !== undefined && children.includes(last) ? last : children[0];
  } else {
    let end: string = node.id;
    for (;;) {
      const further: string | null | undefined = key === 'Home' ? tree.get(end)?.parent : tree.children(end)[0];
      if (further == null || !drawn.has(further)) break;
      end = further;
    }
    next = end;
  }
  return next != null && drawn.has(next) ? next : null;
}
