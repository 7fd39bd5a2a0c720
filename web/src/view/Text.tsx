// The text of a message: as Markdown once that is loaded, and as it is until then.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { clean } from '../text/plain';
import { PlainText } from './Shown';

type Loaded = typeof import('./Markdown');

const markdown = signal<Loaded | null>(null);
let isLoading = false;

/** Loads Markdown, once. */
export function loadMarkdown(): void {
  if (isLoading) return;
  isLoading = true;
  import('./Markdown').then(
    (loaded) => {
      markdown.value = loaded;
    },
    () => {
      isLoading = false;
    },
  );
}

export function Text({ text, isGrowing = false }: { text: string; isGrowing?: boolean }) {
  useEffect(loadMarkdown, []);
  const loaded = markdown.value;
  if (!loaded) return <PlainText text={clean(text)} />;
  const Shown = isGrowing ? loaded.GrowingMarkdown : loaded.default;
  return <Shown text={text} />;
}
