// A dialog over the page. The browser keeps the focus in it, and Escape closes it.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { words } from '../language';
import { IconButton } from './Button';

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
  /** Whether it can be closed without an answer. */
  isClosable?: boolean;
  /** Whether a field in it takes the focus first. */
  hasField?: boolean;
}

export function Dialog({ title, onClose, children, isClosable = true, hasField = false, ...rest }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      // Not where a key has led elsewhere meanwhile.
      const { activeElement } = document;
      const isElsewhere = activeElement && activeElement !== document.body && !dialog?.contains(activeElement);
      if (before instanceof HTMLElement && before.isConnected && !isElsewhere) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${rest.class ?? ''}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (isClosable) onClose();
      }}
      onClick={(event) => {
        // Only what is outside of the content is the dialog itself.
        if (isClosable && event.target === element.current) onClose();
      }}
    >
      <div class="dialog-content">
        <header class="dialog-head">
          <h2 id={id} tabIndex={-1} autoFocus={!hasField}>
            {title}
          </h2>
          {isClosable && <IconButton icon="close" label={words.value.close} onClick={onClose} />}
        </header>
        {children}
      </div>
    </dialog>
  );
}
