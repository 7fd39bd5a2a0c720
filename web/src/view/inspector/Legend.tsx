// What the colours and patterns of origins mean, and how many tokens each has. One of them can be singled out.
import { number } from '../../language';
import { ORIGINS } from '../../api/inspecting';
import { inspecting } from '../../language/inspecting';
import { originClass } from './origins';

interface Props {
  counts: ReadonlyMap<string | null, number>;
  only: string | null;
  choose: (origin: string | null) => void;
}

export function Legend({ counts, only, choose }: Props) {
  const text = inspecting.value;
  const known: readonly string[] = ORIGINS;
  const order = [...known, ...[...counts.keys()].filter((name) => name !== null && !known.includes(name)), null];
  return (
    <ul class="legend" aria-label={text.legend}>
      {order.map((origin) => {
        const count = counts.get(origin);
        if (count === undefined) return null;
        const name = origin ?? 'unknown';
        return (
          <li key={name}>
            <button
              type="button"
              aria-pressed={only === name}
              title={origin === null ? text.legendHint : text.originNote(origin)}
              onClick={() => choose(only === name ? null : name)}
            >
              <span class={`swatch ${originClass(origin)}`} aria-hidden="true" />
              {origin === null ? text.originUnknown : text.origin(origin)}
              <span class="quiet">{number(count)}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
