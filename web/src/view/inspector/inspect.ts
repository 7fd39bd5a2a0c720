// Shows a tab of the panel for a message.
import { focusOn, open } from '../../state/session';
import { presentTab } from './present';

export function inspect(tab: string, node: string): void {
  const present = open.value;
  if (!present) return;
  present.focused.value = node;
  presentTab.value = tab;
  // The panel is drawn first.
  requestAnimationFrame(() => focusOn('panel'));
}
