// Dialogs that ask for a text, and those of the page: which one is open.
import { signal } from '@preact/signals';

export interface Question {
  title: string;
  label: string;
  value: string;
  answer: (text: string) => void;
}

export const question = signal<Question | null>(null);
export const overlay = signal<'help' | 'palette' | 'settings' | 'import' | 'tools' | null>(null);

export function ask(next: Question): void {
  question.value = next;
}

/** Asks for the browser's choice of files for the message. */
export const wantsFiles = signal(false);
