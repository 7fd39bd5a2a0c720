// Buttons: with a sign alone, they have a name and show it as a hint.
import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './Icon';

interface Props {
  icon: IconName;
  label: string;
  onClick: (event: MouseEvent) => void;
  class?: string;
  disabled?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  /** The keys of the same command, as `aria-keyshortcuts` writes them. */
  keys?: string;
  children?: ComponentChildren;
}

export function IconButton({ icon, label, onClick, disabled, pressed, expanded, keys, children, ...rest }: Props) {
  return (
    <button
      type="button"
      class={`icon-button ${rest.class ?? ''}`}
      aria-label={label}
      title={label}
      disabled={disabled}
      aria-pressed={pressed}
      aria-expanded={expanded}
      aria-haspopup={expanded === undefined ? undefined : 'menu'}
      aria-keyshortcuts={keys}
      onClick={onClick}
    >
      <Icon name={icon} />
      {children}
    </button>
  );
}
