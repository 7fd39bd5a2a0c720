// Swiping sideways over an element. Buttons and keys do the same: nothing needs it.

const FAR = 60;

/** Calls `move` with -1 or 1 for a swipe to the right or to the left. Returns what ends it. */
export function swipe(element: HTMLElement, move: (step: number) => void): () => void {
  let begin: { x: number; y: number } | null = null;
  const down = (event: TouchEvent) => {
    const touch = event.touches.length === 1 ? event.touches[0] : undefined;
    // Wide code and tables scroll sideways themselves.
    const isWide = event.target instanceof Element && event.target.closest('pre, .wide, textarea, input') !== null;
    begin = touch && !isWide ? { x: touch.clientX, y: touch.clientY } : null;
  };
  const up = (event: TouchEvent) => {
    const touch = event.changedTouches[0];
    if (!begin || !touch) return;
    const sideways = touch.clientX - begin.x;
    const isFar = Math.abs(sideways) > FAR && Math.abs(sideways) > 2 * Math.abs(touch.clientY - begin.y);
    begin = null;
    if (isFar) move(sideways > 0 ? -1 : 1);
  };
  element.addEventListener('touchstart', down, { passive: true });
  element.addEventListener('touchend', up, { passive: true });
  return () => {
    element.removeEventListener('touchstart', down);
    element.removeEventListener('touchend', up);
  };
}
