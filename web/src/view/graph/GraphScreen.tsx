// The tree as a picture: moved and zoomed by mouse, by touch and by keys. Only what is seen is drawn.
import { useMemo, useRef } from 'preact/hooks';
import { actionOf } from '../../keys/screens';
import { words } from '../../language';
import type { OpenConversation } from '../../state/open';
import { hoist, rootOf, showLine } from '../../state/steering';
import { siblingAt } from '../../tree/siblings';
import { layOut, type Layout } from '../../tree/layout';
import { runsOf } from '../../tree/runs';
import { IconButton } from '../Button';
import { Frame } from '../steering/Frame';
import { HoistNote } from '../steering/TreeTools';
import { seen, type Bounds } from './camera';
import { boundsOf, draw } from './drawing';
import { Picture, cardId } from './Picture';
import { useWindow } from './window';

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
  const focused = present.focused.value ?? present.at.value;
  const runByNode = useMemo(() => {
    const places = new Map<string, [string, number]>();
    for (const { run } of layout.runs) run.nodes.forEach((id, index) => places.set(id, [run.key, index]));
    return places;
  }, [layout]);
  const line = present.line.value;
  const path = useMemo(() => new Set(line.map((node) => node.id)), [line]);
  const pathRuns = useMemo(() => {
    const keys = new Set<string>();
    for (const id of path) keys.add(runByNode.get(id)?.[0] ?? '');
    return keys;
  }, [path, runByNode]);
  const first = layout.runs.find((placed) => placed.run.nodes.length > 0)?.run.nodes[0] ?? null;
  const active = focused !== null && runByNode.has(focused) ? focused : first;
  const place = placeOf(layout, runByNode, active);
  const { camera, size, zoom, move, showAll, showActive } = useWindow(area, { layout, root, active, place });
  const show = (id: string) => {
    present.goTo(id);
    showLine(id);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== area.current) return;
    const action = actionOf('graph', event);
    const arrow = ARROWS[event.key];
    if (action === 'picture' && arrow) move(80 * arrow[0], 80 * arrow[1]);
    else if (action === 'move') {
      const next = neighbour(present, active, event.key, runByNode);
      if (next !== null) present.focused.value = next;
    } else if (action === 'larger') zoom(1.25);
    else if (action === 'smaller') zoom(0.8);
    else if (action === 'all') showAll();
    else if (action === 'active') showActive();
    else if (action === 'show' && active !== null) show(active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const seenFrom = camera.value;
  const drawn = seenFrom && draw(layout, seen(seenFrom, size.value), seenFrom.scale, pathRuns);
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
        {seenFrom && drawn && (
          <Picture
            present={present}
            camera={{ ...seenFrom, size: size.value }}
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

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

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
