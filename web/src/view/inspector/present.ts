// The tab of the panel that is shown.
import { signal } from '@preact/signals';

export const presentTab = signal('tree');
