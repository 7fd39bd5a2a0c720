// Keeps the focus on the page: what had it may be gone after a key, or with the screen that was shown before.
import { effect } from '@preact/signals';
import { isText } from '../keys/dispatch';
import { route } from '../state/route';
import { open } from '../state/session';

/** For how many frames a screen is watched, which may have to be loaded first. */
const FRAMES = 40;

function isLost(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body;
}

/** Calls something at each of some frames. */
function frames(count: number, call: () => void): void {
  if (count === 0) return;
  requestAnimationFrame(() => {
    call();
    frames(count - 1, call);
  });
}

/** Gives a lost focus to the message that had it last, or that is the last one now, or else to the title of the screen. */
function restore(): void {
  if (!isLost() || document.querySelector('dialog[open]')) return;
  const present = open.value;
  const shown = present?.state.value === 'ready' ? [present.focused.value, present.at.value] : [];
  for (const id of shown) {
    const message = id === null ? null : document.querySelector<HTMLElement>(`.line [data-node="${CSS.escape(id)}"]`);
    if (!present || !message) continue;
    present.focused.value = id;
    message.focus({ preventScroll: true });
    return;
  }
  document.getElementById('screen-title')?.focus({ preventScroll: true });
}

function onKeyDown(event: KeyboardEvent): void {
  if (isLost() || event.isComposing) return;
  const { target } = event;
  // Escape leads out of a field, so that the keys are those of commands again.
  const isLeft = event.key === 'Escape' && isText(target) && !document.querySelector('dialog[open]');
  let count = 0;
  frames(4, () => {
    count += 1;
    if (isLeft && count === 1 && target instanceof HTMLElement) target.blur();
    if (count >= 2) restore();
  });
}

export function keepFocus(): void {
  // Before what removes the element that has the focus.
  document.addEventListener('keydown', onKeyDown, true);
  let before = route.value.screen;
  effect(() => {
    const { screen } = route.value;
    if (screen === before) return;
    before = screen;
    frames(FRAMES, restore);
  });
}
