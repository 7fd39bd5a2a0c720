// A JSON value that is shown as a tree when it is opened; until that is loaded, as its text.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { clean } from '../text/plain';
import { PlainText } from './Shown';

const tree = signal<typeof import('./JsonTree') | null>(null);
let isLoading = false;

function load(): void {
  if (isLoading) return;
  isLoading = true;
  import('./JsonTree').then(
    (loaded) => {
      tree.value = loaded;
    },
    () => {
      isLoading = false;
    },
  );
}

interface Props {
  title: string;
  value: unknown;
  isOpen?: boolean;
}

export function FoldedJson({ title, value, isOpen = false }: Props) {
  useEffect(load, []);
  const loaded = tree.value;
  return (
    <details class="folded" open={isOpen}>
      <summary>{title}</summary>
      {loaded ? (
        <loaded.JsonTree value={value} label={title} />
      ) : (
        <PlainText text={clean(JSON.stringify(value, null, 2))} isCode />
      )}
    </details>
  );
}
