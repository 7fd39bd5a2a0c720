// Keys that are pressed, and the commands that they run.
import { settings } from '../state/settings';
import { commands, isUsable } from './map';

export interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** Returns the name of what is pressed, as commands name it. */
export function nameOf(pressed: Pressed): string {
  const parts: string[] = [];
  if (pressed.ctrlKey || pressed.metaKey) parts.push('Mod');
  if (pressed.altKey) parts.push('Alt');
  // With a sign, Shift is a part of how the sign is typed.
  if (pressed.shiftKey && (pressed.key.length > 1 || parts.length > 0)) parts.push('Shift');
  parts.push(parts.length > 0 && pressed.key.length === 1 ? pressed.key.toLowerCase() : pressed.key);
  return parts.join('+');
}

/** Whether a key is a single sign, which WCAG 2.1.4 lets people switch off. */
export function isLetter(name: string): boolean {
  return Array.from(name).length === 1;
}

/** Whether keys are text at this place. */
export function isText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  const noText = ['checkbox', 'radio', 'button', 'range', 'submit'];
  return target instanceof HTMLInputElement && !noText.includes(target.type);
}

/** Runs the command of a key. Returns whether there was one. */
export function dispatch(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.isComposing) return false;
  const name = nameOf(event);
  if (isLetter(name) && !settings.value.letters) return false;
  if (isText(event.target) && !name.startsWith('Mod+') && !name.startsWith('Alt+')) return false;
  // An open dialog has its own keys.
  if (document.querySelector('dialog[open]') !== null) return false;
  // Those of a screen are added last, and come first.
  const command = commands.value.findLast((entry) => entry.keys.includes(name) && isUsable(entry));
  if (!command) return false;
  event.preventDefault();
  command.run();
  return true;
}

/** Returns how a key is written for people. */
export function shown(name: string, isMac: boolean): string {
  const names: Record<string, string> = {
    Mod: isMac ? '⌘' : 'Ctrl',
    Alt: isMac ? '⌥' : 'Alt',
    Shift: isMac ? '⇧' : 'Shift',
    ArrowUp: '↑',
    ArrowDown: '↓',
    ArrowLeft: '←',
    ArrowRight: '→',
    Escape: 'Esc',
    Enter: '↵',
  };
  if (name === '+') return name;
  return name
    .split('+')
    .map((part) => names[part] ?? (part.length === 1 ? part.toUpperCase() : part))
    .join(isMac ? '' : ' ');
}
