// The focus of a tab that a key or a menu has opened.
import { useEffect } from 'preact/hooks';
import { wantsFocus } from '../../state/session';

/** Takes the focus that is wanted in the panel, once there is something for it. */
export function usePanelFocus(take: () => void): void {
  useEffect(() => {
    if (wantsFocus.value?.part !== 'panel') return;
    wantsFocus.value = null;
    take();
  }, [wantsFocus.value]);
}
