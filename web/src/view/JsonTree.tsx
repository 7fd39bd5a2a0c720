// A JSON value as a tree that is unfolded as far as it is looked at.
import { useState } from 'preact/hooks';
import { number } from '../language';
import { inspecting } from '../language/inspecting';
import { clean, cut, LONG } from '../text/plain';
import { shown } from './Shown';

/** How many entries are drawn at once. */
const ENTRIES = 100;
/** A value with fewer entries is unfolded at first, down to this level. */
const FEW = 12;
const LEVELS = 3;

export function JsonTree({ value, label }: { value: unknown; label: string }) {
  return (
    <div class="json" role="group" aria-label={label}>
      <Value value={value} level={0} />
    </div>
  );
}

function Value({ value, name, level }: { value: unknown; name?: string; level: number }) {
  const title = name === undefined ? null : <span class="json-name">{shown(clean(name))}</span>;
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="json-leaf">
        {title}
        <Leaf value={value} />
      </div>
    );
  }
  return <Entries value={value as Readonly<Record<string, unknown>>} title={title} level={level} />;
}

function Entries({
  value,
  title,
  level,
}: {
  value: Readonly<Record<string, unknown>>;
  title: preact.ComponentChildren;
  level: number;
}) {
  const entries = Object.entries(value);
  const [isOpen, setOpen] = useState(level < LEVELS && entries.length <= FEW);
  const [count, setCount] = useState(ENTRIES);
  const signs = Array.isArray(value) ? '[ ]' : '{ }';
  return (
    <details
      class="json-branch"
      open={isOpen}
      onToggle={(event) => {
        event.stopPropagation();
        setOpen(event.currentTarget.open);
      }}
    >
      <summary>
        {title}
        <span class="quiet">
          {signs} {inspecting.value.items(number(entries.length))}
        </span>
      </summary>
      {isOpen && (
        <div class="json-entries">
          {entries.slice(0, count).map(([key, entry]) => (
            <Value key={key} name={key} value={entry} level={level + 1} />
          ))}
          {entries.length > count && (
            <button type="button" class="text-button" onClick={() => setCount(count + ENTRIES)}>
              {inspecting.value.moreItems(number(Math.min(ENTRIES, entries.length - count)))}
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === 'string') {
    const text = clean(cut(value, LONG / 10));
    return (
      <span class="json-text" dir="auto">
        {shown(text)}
        {text.length < value.length && value.length > LONG / 10 ? ' …' : ''}
      </span>
    );
  }
  return <span class={`json-${value === null ? 'null' : typeof value}`}>{String(value)}</span>;
}
