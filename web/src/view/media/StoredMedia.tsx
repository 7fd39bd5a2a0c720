// An image or audio of a stored message, in the line.
import { words } from '../../language';
import { mediaOf } from '../../state/media';

export function StoredMedia({ kind, part }: { kind: string; part: Record<string, unknown> }) {
  const { digest, type } = part;
  const name = words.value.media(typeof type === 'string' ? type : kind);
  const isKnown = typeof digest === 'string' && typeof type === 'string';
  const found = isKnown ? mediaOf(digest, type) : null;
  if (found?.state !== 'ready') {
    return (
      <p class="media" aria-busy={found?.state === 'loading'}>
        {name}
      </p>
    );
  }
  return kind === 'image' ? (
    <img class="media-image" src={found.url} alt={name} />
  ) : (
    <audio class="media-audio" controls src={found.url} aria-label={name} />
  );
}
