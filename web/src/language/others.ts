// The languages beside English. Another one is a file with a `Language`, as de.ts is, and a line here.
import type { Language } from './parts';

interface Other {
  /** Its name in itself. */
  name: string;
  /** Loads its file, when it is chosen. */
  load: () => Promise<Language>;
}

export const OTHERS: Record<string, Other> = {
  de: { name: 'Deutsch', load: async () => (await import('./de')).german },
};
