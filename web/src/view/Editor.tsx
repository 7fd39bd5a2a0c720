// A text that is edited in the place of a message.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { words } from '../language';
import { fit } from './fit';

interface Props {
  text: string;
  title: string;
  note: string;
  onCancel: () => void;
  onSend: (text: string) => void;
}

export function Editor({ text, title, note, onCancel, onSend }: Props) {
  const [value, setValue] = useState(text);
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.focus();
    element.setSelectionRange(element.value.length, element.value.length);
    fit(element, 480);
  }, []);
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(value);
      }}
    >
      <textarea
        ref={area}
        aria-label={title}
        dir="auto"
        rows={2}
        value={value}
        onInput={(event) => {
          setValue(event.currentTarget.value);
          fit(event.currentTarget, 480);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            event.preventDefault();
            onCancel();
          }
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            onSend(value);
          }
        }}
      />
      <div class="editor-foot">
        <span class="quiet">{note}</span>
        <button type="button" class="button" onClick={onCancel}>
          {words.value.cancel}
        </button>
        <button type="submit" class="button primary" disabled={value.trim() === ''}>
          {words.value.send}
        </button>
      </div>
    </form>
  );
}
