// A text of others on the page: as text, with signs that change its direction shown by their names.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { words } from '../language';
import { cut, drawnLength, pieces } from '../text/plain';

/** The elements of a text. */
export function shown(text: string): ComponentChildren {
  const found = pieces(text);
  if (found.length === 1 && typeof found[0] === 'string') return found[0];
  return found.map((piece, index) =>
    typeof piece === 'string' ? (
      <bdi key={index}>{piece}</bdi>
    ) : (
      <span key={index} class="control" title={words.value.control(piece.code, piece.name)}>
        {piece.name || piece.code}
      </span>
    ),
  );
}

/** A text as it is, with its lines. A long one is cut, and a button shows more of it. */
export function PlainText({ text, isCode = false }: { text: string; isCode?: boolean }) {
  const [steps, setSteps] = useState(1);
  const step = useMemo(() => drawnLength(text), [text]);
  const part = cut(text, steps * step);
  return (
    <>
      <div class={isCode ? 'plain code' : 'plain'} dir="auto">
        {shown(part)}
      </div>
      {part.length < text.length && (
        <button type="button" class="text-button" onClick={() => setSteps(steps + 1)}>
          {words.value.showMore(text.length - part.length)}
        </button>
      )}
    </>
  );
}
