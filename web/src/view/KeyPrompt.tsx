// The question for a key, where the server wants one.
import { useState } from 'preact/hooks';
import { words } from '../language';
import { hasKey, setKeyOfServer } from '../state/connection';
import { Dialog } from './Dialog';

export function KeyPrompt() {
  const [key, setKey] = useState('');
  return (
    <Dialog hasField title={words.value.keyTitle} isClosable={false} onClose={() => undefined}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== '') setKeyOfServer(key.trim());
        }}
      >
        <p class="quiet">{words.value.keyText}</p>
        {hasKey() && (
          <p class="failure" role="alert">
            {words.value.keyRefused}
          </p>
        )}
        <label>
          {words.value.keyLabel}
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
            autoFocus
          />
        </label>
        <div class="form-foot">
          {hasKey() && (
            <button type="button" class="button" onClick={() => setKeyOfServer(null)}>
              {words.value.keyForget}
            </button>
          )}
          <button type="submit" class="button primary" disabled={key.trim() === ''}>
            {words.value.keyUse}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
