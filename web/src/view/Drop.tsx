// Files that are dropped on the page: images and audio go to the message, documents are imported.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { words } from '../language';
import { attach, kindOf } from '../state/attachments';
import { importFiles } from '../state/imports';
import { overlay } from './overlays';

/** Gives files to where they belong. */
export function receive(files: readonly File[]): void {
  const media = files.filter((file) => kindOf(file) !== null);
  const documents = files.filter((file) => kindOf(file) === null);
  if (media.length > 0) void attach(media);
  if (documents.length === 0) return;
  overlay.value = 'import';
  void importFiles(documents);
}

export function Drop() {
  const isOver = useSignal(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      isOver.value = document.querySelector('dialog[open]') === null;
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) isOver.value = false;
    };
    const drop = (event: DragEvent) => {
      isOver.value = false;
      if (!hasFiles(event)) return;
      event.preventDefault();
      receive([...(event.dataTransfer?.files ?? [])]);
    };
    document.addEventListener('dragover', over);
    document.addEventListener('dragleave', leave);
    document.addEventListener('drop', drop);
    return () => {
      document.removeEventListener('dragover', over);
      document.removeEventListener('dragleave', leave);
      document.removeEventListener('drop', drop);
    };
  }, []);
  return isOver.value ? <div class="drop-veil">{words.value.dropHere}</div> : null;
}
