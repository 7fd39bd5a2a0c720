// The states of a flow as a drawing, with the present ones marked. What it shows is also there as a list.
import { HEIGHT, layOut, WIDTH, type FlowGraph } from '../../flow/graph';
import { around } from '../../language/around';

/** Up to which width a drawing is made smaller where there is less room; a wider one is scrolled. */
const NARROW = 520;

interface Props {
  /** The name of the flow. */
  name: string;
  graph: FlowGraph;
  /** The names of the states where it is now. */
  present: ReadonlySet<string>;
  /** The names of the states where it was. */
  visited: ReadonlySet<string>;
}

function short(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

export function FlowDrawing({ name, graph, present, visited }: Props) {
  const text = around.value;
  const { states, transitions, left, width, height } = layOut(graph);
  const title = graph.name === null ? text.graphOf(name) : text.graphPart(graph.name);
  const nameOf = (id: string) => graph.states.find((state) => state.id === id)?.name ?? id;
  const marker = `arrow-${graph.name ?? 'outer'}`;
  return (
    <figure class="flow-figure">
      <figcaption class="quiet">{title}</figcaption>
      <div class="wide" tabIndex={0} role="group" aria-label={title}>
        <svg
          class={width > NARROW ? 'flow-graph' : 'flow-graph narrow'}
          viewBox={`${left} 0 ${width} ${height}`}
          width={width}
          height={height}
          aria-hidden="true"
        >
          <defs>
            <marker id={marker} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 0L8 4L0 8z" />
            </marker>
          </defs>
          {transitions.map((drawn, index) => (
            <path key={index} class="flow-arrow" d={drawn.path} marker-end={`url(#${marker})`} />
          ))}
          {states.map((state) => (
            <g
              key={state.id}
              class="flow-state"
              data-present={present.has(state.name)}
              data-visited={visited.has(state.name)}
              transform={`translate(${state.x} ${state.y})`}
            >
              <rect width={WIDTH} height={HEIGHT} rx={graph.ends.has(state.id) ? HEIGHT / 2 : 9} />
              <text x={WIDTH / 2} y={19} class="flow-name">
                {short(state.name, 20)}
              </text>
              <text x={WIDTH / 2} y={34} class="flow-kind">
                {state.kind}
              </text>
            </g>
          ))}
          {transitions.map((drawn, index) => (
            <text key={index} class="flow-label" x={drawn.x} y={drawn.y + 3}>
              {short(drawn.label, 24)}
            </text>
          ))}
        </svg>
      </div>
      <ul class="hidden">
        {graph.states.map((state) => (
          <li key={state.id}>
            {state.name} ({state.kind}){present.has(state.name) && ` – ${text.isCurrent}`}
          </li>
        ))}
        {graph.transitions.map(({ from, to, label }, index) => (
          <li key={index}>{text.transition(nameOf(from), nameOf(to), label)}</li>
        ))}
      </ul>
    </figure>
  );
}
