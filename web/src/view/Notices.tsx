// Short notices, and the place whose sentences screen readers say.
import { words } from '../language';
import { dismiss, notices, spoken } from '../state/notices';
import { IconButton } from './Button';
import { plainName } from '../text/plain';

export function Notices() {
  return (
    <>
      <div class="notices" role="region" aria-label={words.value.status}>
        {notices.value.map((notice) => (
          <div key={notice.key} class="notice" data-error={notice.isError} role={notice.isError ? 'alert' : 'status'}>
            <p>{plainName(notice.text)}</p>
            {notice.undo && (
              <button type="button" class="text-button" onClick={notice.undo}>
                {words.value.undo}
              </button>
            )}
            <IconButton icon="close" label={words.value.dismiss} onClick={() => dismiss(notice.key)} />
          </div>
        ))}
      </div>
      <div class="hidden" role="status" aria-live="polite">
        {plainName(spoken.value)}
      </div>
    </>
  );
}
