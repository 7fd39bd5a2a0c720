// A button with a menu, as the ARIA Authoring Practices describe it.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { IconButton } from './Button';
import { Icon, type IconName } from './Icon';

export interface MenuItem {
  label: string;
  icon: IconName;
  run: () => void;
  isDangerous?: boolean;
}

interface Props {
  label: string;
  items: () => readonly MenuItem[];
  icon?: IconName;
  class?: string;
}

export function Menu({ label, items, icon = 'more', ...rest }: Props) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLSpanElement>(null);
  const close = (isReturning: boolean) => {
    setOpen(false);
    if (isReturning) button.current?.querySelector('button')?.focus();
  };
  return (
    <span class={`menu-place ${rest.class ?? ''}`} ref={button}>
      <IconButton icon={icon} label={label} expanded={isOpen} onClick={() => setOpen(!isOpen)} />
      {isOpen && <List label={label} items={items()} near={button.current} close={close} />}
    </span>
  );
}

interface ListProps {
  label: string;
  items: readonly MenuItem[];
  near: HTMLElement | null;
  close: (isReturning: boolean) => void;
}

function List({ label, items, near, close }: ListProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const menu = element.current;
    if (!menu || !near) return;
    menu.showPopover();
    const from = near.getBoundingClientRect();
    const left = Math.max(8, Math.min(from.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8));
    const isBelow = from.bottom + menu.offsetHeight + 8 < innerHeight;
    menu.style.left = `${left}px`;
    menu.style.top = `${isBelow ? from.bottom + 4 : Math.max(8, from.top - menu.offsetHeight - 4)}px`;
    menu.querySelector('button')?.focus();
  }, []);
  useEffect(() => {
    const menu = element.current;
    const onToggle = (event: Event) => {
      if ((event as ToggleEvent).newState === 'closed') close(false);
    };
    menu?.addEventListener('toggle', onToggle);
    return () => menu?.removeEventListener('toggle', onToggle);
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(element.current?.querySelectorAll('button') ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const steps: Record<string, number> = {
      ArrowDown: (at + 1) % buttons.length,
      ArrowUp: (at + buttons.length - 1) % buttons.length,
      Home: 0,
      End: buttons.length - 1,
    };
    const step = steps[event.key];
    if (event.key === 'Escape' || event.key === 'Tab') {
      close(true);
      if (event.key === 'Escape') event.preventDefault();
    } else if (step !== undefined) {
      buttons[step]?.focus();
      event.preventDefault();
    }
    event.stopPropagation();
  };
  return (
    <div ref={element} class="menu" role="menu" aria-label={label} popover="auto" onKeyDown={onKeyDown}>
      {items.map((item) => (
        <button
          key={item.label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          class={item.isDangerous ? 'dangerous' : ''}
          onClick={() => {
            close(true);
            item.run();
          }}
        >
          <Icon name={item.icon} />
          {item.label}
        </button>
      ))}
    </div>
  );
}
