// Documents that are imported: by a button or by drop, and what came of each.
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { around } from '../../language/around';
import { IMPORT_FORMATS, importedFiles, importFiles, isImporting, type ImportedFile } from '../../state/imports';
import { visit, writeRoute } from '../../state/route';
import { plainName } from '../../text/plain';
import { Dialog } from '../Dialog';
import { overlay } from '../overlays';

function close(): void {
  overlay.value = null;
}

export function ImportDialog() {
  const text = around.value;
  const format = useSignal<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const isOver = useSignal(false);
  return (
    <Dialog title={text.importTitle} onClose={close}>
      <div
        class="drop-place"
        data-over={isOver.value}
        onDragOver={(event) => {
          event.preventDefault();
          isOver.value = true;
        }}
        onDragLeave={() => {
          isOver.value = false;
        }}
        onDrop={(event) => {
          event.preventDefault();
          event.stopPropagation();
          isOver.value = false;
          void importFiles([...(event.dataTransfer?.files ?? [])], format.value);
        }}
      >
        <p>{text.importText}</p>
        <label class="setting">
          <span>{text.importFormat}</span>
          <select
            value={format.value ?? ''}
            onChange={(event) => {
              format.value = event.currentTarget.value === '' ? null : event.currentTarget.value;
            }}
          >
            {IMPORT_FORMATS.map((name) => (
              <option key={name ?? ''} value={name ?? ''}>
                {name ?? text.importRecognized}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class="button primary"
          disabled={isImporting.value}
          onClick={() => input.current?.click()}
        >
          {text.importChoose}
        </button>
        <input
          ref={input}
          class="import-files"
          type="file"
          multiple
          hidden
          aria-label={text.importChoose}
          accept=".json,.jsonl,.md,.markdown,.txt,application/json,text/*"
          onChange={(event) => {
            void importFiles([...(event.currentTarget.files ?? [])], format.value);
            event.currentTarget.value = '';
          }}
        />
      </div>
      <ul class="imported" aria-live="polite">
        {importedFiles.value.map((file) => (
          <li key={file.key}>
            <Outcome file={file} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function Outcome({ file }: { file: ImportedFile }) {
  const text = around.value;
  const { result, error } = file;
  return (
    <>
      <strong>{plainName(file.name)}</strong>
      {error !== null && <p class="field-problem">{plainName(error)}</p>}
      {result === null && error === null && <p class="quiet">{text.importWaiting}</p>}
      {result && (
        <>
          <p class="quiet">{text.importedCount(result.imported.length)}</p>
          {result.imported.slice(0, 20).map((one) => (
            <p key={one.id}>
              <a
                href={writeRoute({ screen: 'conversation', conversation: one.id, node: null })}
                onClick={(event) => {
                  // The address may be that of the present one, which was deleted.
                  event.preventDefault();
                  close();
                  visit({ conversation: one.id });
                }}
              >
                {text.importedOne(one.nodes)}
              </a>
              {one.repaired.length > 0 && (
                <span class="quiet">
                  {' '}
                  {text.importRepaired}: {plainName(one.repaired.join('; '))}
                </span>
              )}
            </p>
          ))}
          {result.refused.map((reason, index) => (
            <p key={index} class="field-problem">
              {text.importRefused}: {plainName(reason)}
            </p>
          ))}
        </>
      )}
    </>
  );
}
