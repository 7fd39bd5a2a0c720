// What is attached to the next message, and the buttons that attach more.
import { useSignalEffect } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { words } from '../../language';
import { attach, attachments, detach, type Attachment } from '../../state/attachments';
import { canRecord, isRecording, toggleRecording } from '../../state/recording';
import { capabilities } from '../../state/server';
import { plainName } from '../../text/plain';
import { IconButton } from '../Button';
import { wantsFiles } from '../overlays';

export function Attached() {
  if (attachments.value.length === 0) return null;
  return (
    <ul class="attached" aria-label={words.value.attachments}>
      {attachments.value.map((entry) => (
        <li key={entry.key}>
          <Preview entry={entry} />
          <span class="attached-name">{plainName(entry.name)}</span>
          <IconButton icon="close" label={words.value.detach(entry.name)} onClick={() => detach(entry.key)} />
        </li>
      ))}
    </ul>
  );
}

function Preview({ entry }: { entry: Attachment }) {
  if (entry.kind === 'image') return <img src={entry.url} alt="" />;
  return <audio controls src={entry.url} aria-label={entry.name} />;
}

/** The buttons in the composer. The model may take no media at all: then there are none. */
export function AttachButtons() {
  const input = useRef<HTMLInputElement>(null);
  const text = words.value;
  const known = capabilities.value;
  const kinds = (['image', 'audio'] as const).filter((kind) => known === null || known[kind]);
  useSignalEffect(() => {
    if (!wantsFiles.value) return;
    wantsFiles.value = false;
    input.current?.click();
  });
  return (
    <>
      {kinds.length > 0 && (
        <>
          <IconButton icon="attach" label={text.attach} keys="Alt+A" onClick={() => input.current?.click()} />
          <input
            ref={input}
            class="attach-files"
            type="file"
            multiple
            hidden
            aria-label={text.attach}
            accept={kinds.map((kind) => `${kind}/*`).join(',')}
            onChange={(event) => {
              void attach([...(event.currentTarget.files ?? [])]);
              event.currentTarget.value = '';
            }}
          />
        </>
      )}
      {canRecord.value && (
        <IconButton
          icon="microphone"
          label={isRecording.value ? text.recordEnd : text.record}
          pressed={isRecording.value}
          keys="Alt+R"
          class={isRecording.value ? 'recording' : ''}
          onClick={() => void toggleRecording()}
        />
      )}
    </>
  );
}
