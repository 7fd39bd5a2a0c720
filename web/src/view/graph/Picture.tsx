// The drawn part of the tree.
import type { Node } from '../../api/types';
import { words } from '../../language';
import type { OpenConversation } from '../../state/open';
import { CARD } from '../../tree/layout';
import { siblingsOf } from '../../tree/siblings';
import { summary } from '../../text/plain';
import { writer } from '../roles';
import type { Bounds, Camera, Size } from './camera';
import { READABLE, type DrawnEdge, type Drawing } from './drawing';

/** How many characters a card shows; what is wider is cut at its edge. */
const SHOWN = 22;

/** The id of the element of a message. */
export function cardId(id: string): string {
  return `card-${id}`;
}

interface Props {
  present: OpenConversation;
  camera: Camera & { size: Size };
  drawing: Drawing;
  path: ReadonlySet<string>;
  pathRuns: ReadonlySet<string>;
  active: string | null;
  place: Bounds | null;
  onSelect: (id: string) => void;
  onShow: (id: string) => void;
}

function curve({ fromX, fromY, toX, toY }: DrawnEdge): string {
  if (fromX === toX) return `M${fromX} ${fromY}V${toY}`;
  const middle = (fromY + toY) / 2;
  return `M${fromX} ${fromY}C${fromX} ${middle} ${toX} ${middle} ${toX} ${toY}`;
}

export function Picture(props: Props) {
  const { present, camera, drawing, path, pathRuns, active, place, onSelect, onShow } = props;
  const { x, y, scale, size } = camera;
  const isDrawn = drawing.cards.some((card) => card.id === active);
  const activeNode = present.tree.get(active);
  const isReadable = scale >= READABLE;
  return (
    <svg
      class="graph-picture"
      width={size.width}
      height={size.height}
      role="presentation"
      data-readable={isReadable}
      focusable="false"
    >
      <g transform={`scale(${scale}) translate(${-x} ${-y})`} role="presentation">
        {drawing.edges.map((edge) => (
          <path
            key={edge.key}
            class="graph-edge"
            data-path={pathRuns.has(edge.key.replace(/ line$/, ''))}
            d={curve(edge)}
          />
        ))}
        {drawing.bars.map((bar) => (
          <line
            key={bar.key}
            class="graph-bar"
            data-path={pathRuns.has(bar.key)}
            x1={bar.x}
            x2={bar.x}
            y1={bar.top}
            y2={Math.max(bar.bottom, bar.top + 1)}
          />
        ))}
        {drawing.cards.map((card) => {
          const node = present.tree.get(card.id);
          if (!node) return null;
          return (
            <Card
              key={card.id}
              present={present}
              node={node}
              x={card.x}
              y={card.y}
              isOnPath={path.has(card.id)}
              isActive={card.id === active}
              isReadable={isReadable}
              onSelect={onSelect}
              onShow={onShow}
            />
          );
        })}
        {!isDrawn && activeNode && place && (
          <Card
            key={activeNode.id}
            present={present}
            node={activeNode}
            x={place.left}
            y={place.top}
            isOnPath={path.has(activeNode.id)}
            isActive
            isReadable={isReadable}
            onSelect={onSelect}
            onShow={onShow}
          />
        )}
      </g>
    </svg>
  );
}

interface CardProps {
  present: OpenConversation;
  node: Node;
  x: number;
  y: number;
  isOnPath: boolean;
  isActive: boolean;
  isReadable: boolean;
  onSelect: (id: string) => void;
  onShow: (id: string) => void;
}

function Card({ present, node, x, y, isOnPath, isActive, isReadable, onSelect, onShow }: CardProps) {
  const text = words.value;
  const { ids, index } = siblingsOf(present.tree, node.id);
  const isHead = present.head.value === node.id;
  const name = node.label ?? (summary(node.text, SHOWN) || '…');
  const parts = [`${writer(node)}: ${name}`];
  if (ids.length > 1) parts.push(text.siblings(index + 1, ids.length));
  if (node.bookmarks.length > 0) parts.push(text.bookmark);
  if (isHead) parts.push(text.isHead);
  return (
    <g
      id={cardId(node.id)}
      class={`card ${node.role}`}
      role="treeitem"
      aria-selected={isActive}
      aria-label={parts.join(', ')}
      data-card={node.id}
      data-path={isOnPath}
      data-active={isActive}
      transform={`translate(${x} ${y})`}
      onClick={() => onSelect(node.id)}
      onDblClick={() => onShow(node.id)}
    >
      <rect width={CARD.width} height={CARD.height} rx={9} />
      {isReadable && (
        <svg x={12} y={0} width={CARD.width - 20} height={CARD.height} aria-hidden="true">
          <text class="card-writer" x={0} y={17}>
            {writer(node)}
            {ids.length > 1 ? ` · ${index + 1}/${ids.length}` : ''}
            {isHead ? ` · ${text.isHead}` : ''}
            {node.status !== 'complete' ? ` · ${text.interrupted}` : ''}
          </text>
          <text class={node.label ? 'card-text labelled' : 'card-text'} x={0} y={36}>
            {name}
          </text>
        </svg>
      )}
      {node.bookmarks.length > 0 && <path class="card-mark" d={`M${CARD.width - 20} 0v12l4-3 4 3V0z`} />}
    </g>
  );
}
