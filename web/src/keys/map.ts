// The commands of the page: what each is called, its keys, and when it can be used. Screens add their own.
import { signal } from '@preact/signals';

export type Group = 'general' | 'line' | 'steering' | 'tree';

export interface Command {
  id: string;
  group: Group;
  /** Such as `?`, `Mod+k` or `Escape`. `Mod` is Control, or Command on a Mac. */
  keys: readonly string[];
  label: () => string;
  when?: () => boolean;
  run: () => void;
}

export const commands = signal<readonly Command[]>([]);

/** Adds commands; one with the id of another replaces it. Returns what removes them. */
export function register(added: readonly Command[]): () => void {
  const ids = new Set(added.map((command) => command.id));
  commands.value = [...commands.value.filter((command) => !ids.has(command.id)), ...added];
  return () => {
    commands.value = commands.value.filter((command) => !added.includes(command));
  };
}

export function isUsable(command: Command): boolean {
  return command.when === undefined || command.when();
}
