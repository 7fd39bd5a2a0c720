// Moving and zooming a picture with the mouse, the wheel and fingers.
import type { Signal } from '@preact/signals';
import { zoomed, type Camera } from './camera';

/** How far a pointer moves before it drags rather than clicks. */
const FAR = 4;

interface Pointer {
  x: number;
  y: number;
}

/** Follows the pointers over an element. Returns what ends it. */
export function moves(element: HTMLElement, camera: Signal<Camera | null>): () => void {
  const pointers = new Map<number, Pointer>();
  let isDragging = false;
  const placeOf = (event: MouseEvent): Pointer => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const wheel = (event: WheelEvent) => {
    if (camera.value === null) return;
    event.preventDefault();
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.shiftKey) {
      const { x, y, scale } = camera.value;
      const sideways = event.deltaX !== 0 ? event.deltaX : event.deltaY;
      camera.value = { x: x + (sideways * pixels) / scale, y, scale };
      return;
    }
    const speed = event.ctrlKey ? 0.01 : 0.0015;
    camera.value = zoomed(camera.value, Math.exp(-event.deltaY * pixels * speed), placeOf(event));
  };
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, placeOf(event));
    isDragging = false;
  };
  const move = (event: PointerEvent) => {
    const before = pointers.get(event.pointerId);
    const present = camera.value;
    if (!before || present === null) return;
    const now = placeOf(event);
    const isFar = Math.hypot(now.x - before.x, now.y - before.y) > FAR;
    if (!isDragging && !isFar) return;
    if (!isDragging) element.setPointerCapture(event.pointerId);
    isDragging = true;
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, pointer]) => pointer);
    const { x, y, scale } = present;
    if (other) {
      const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.hypot(before.x - other.x, before.y - other.y);
      camera.value = zoomed(present, factor, { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
    } else {
      camera.value = { x: x - (now.x - before.x) / scale, y: y - (now.y - before.y) / scale, scale };
    }
    pointers.set(event.pointerId, now);
  };
  const up = (event: PointerEvent) => {
    pointers.delete(event.pointerId);
  };
  const click = (event: MouseEvent) => {
    // The end of a drag is no click.
    if (isDragging) event.stopPropagation();
    isDragging = false;
  };
  element.addEventListener('wheel', wheel, { passive: false });
  element.addEventListener('pointerdown', down);
  element.addEventListener('pointermove', move);
  element.addEventListener('pointerup', up);
  element.addEventListener('pointercancel', up);
  element.addEventListener('click', click, true);
  return () => {
    element.removeEventListener('wheel', wheel);
    element.removeEventListener('pointerdown', down);
    element.removeEventListener('pointermove', move);
    element.removeEventListener('pointerup', up);
    element.removeEventListener('pointercancel', up);
    element.removeEventListener('click', click, true);
  };
}
