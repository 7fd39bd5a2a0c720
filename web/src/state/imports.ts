// Documents that are imported, and what came of each.
import { signal } from '@preact/signals';
import { importDocument, type Imported } from '../api/around';
import { client } from './connection';
import { loadMore } from './list';

export interface ImportedFile {
  key: number;
  name: string;
  result: Imported | null;
  error: string | null;
}

/** The formats by name; `null` is recognized by the text. */
export const IMPORT_FORMATS = [null, 'alloquy', 'markdown', 'openai', 'chatml', 'dataknobs'] as const;

export const importedFiles = signal<readonly ImportedFile[]>([]);
export const isImporting = signal(false);
let last = 0;

function put(file: ImportedFile): void {
  const others = importedFiles.value.filter((other) => other.key !== file.key);
  importedFiles.value = [...others, file];
}

async function importText(name: string, read: () => Promise<string>, format: string | null): Promise<void> {
  last += 1;
  const file: ImportedFile = { key: last, name, result: null, error: null };
  put(file);
  try {
    put({ ...file, result: await importDocument(client, await read(), format) });
  } catch (error) {
    put({ ...file, error: error instanceof Error ? error.message : String(error) });
  }
}

/** Imports files, one after the other. */
export async function importFiles(files: readonly File[], format: string | null = null): Promise<void> {
  if (files.length === 0) return;
  isImporting.value = true;
  for (const file of files) await importText(file.name, () => file.text(), format);
  isImporting.value = false;
  await loadMore(client, true);
}
