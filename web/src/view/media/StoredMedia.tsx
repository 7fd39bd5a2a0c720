// An image, audio or a video of a stored message, in the line.
import { words } from '../../language';
import { mediaOf } from '../../state/media';
import { plainName } from '../../text/plain';

interface Props {
  node: string;
  kind: string;
  part: unknown;
}

/** How many images of a video are shown. */
const FRAMES = 12;

export function StoredMedia({ node, kind, part }: Props) {
  if (!Array.isArray(part)) return <One node={node} kind={kind} part={part} />;
  const frames: readonly unknown[] = part;
  return (
    <>
      {frames.slice(0, FRAMES).map((frame, index) => (
        <One key={index} node={node} kind={kind} part={frame} />
      ))}
      {frames.length > FRAMES && <p class="media">{words.value.frames(FRAMES, frames.length)}</p>}
    </>
  );
}

function One({ node, kind, part }: Props) {
  const { digest, type } = (part ?? {}) as Record<string, unknown>;
  const name = words.value.media(typeof type === 'string' && type !== '' ? plainName(type) : kind);
  const found = typeof digest === 'string' ? mediaOf(node, digest) : null;
  if (found?.state !== 'ready') {
    return (
      <p class="media" aria-busy={found?.state === 'loading'}>
        {name}
      </p>
    );
  }
  if (found.shown === 'image') return <img class="media-image" src={found.url} alt={name} />;
  if (found.shown === 'video') return <video class="media-image" controls src={found.url} aria-label={name} />;
  return <audio class="media-audio" controls src={found.url} aria-label={name} />;
}
