// The part of a picture that is looked at, and what moves it.
import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Layout } from '../../tree/layout';
import { centred, fitted, showing, zoomed, type Bounds, type Camera, type Size } from './camera';
import { moves } from './moves';

/** What a picture shows. */
export interface Subject {
  layout: Layout;
  /** The first message, if only a part of the tree is shown. */
  root: string | null;
  active: string | null;
  /** Where the active message is. */
  place: Bounds | null;
}

export interface Window {
  camera: Signal<Camera | null>;
  size: Signal<Size>;
  zoom: (factor: number) => void;
  move: (x: number, y: number) => void;
  showAll: () => void;
  showActive: () => void;
}

function boundsOf({ left, right, bottom }: Layout): Bounds {
  return { left, right, top: 0, bottom };
}

/** At which size the texts of cards are read with ease. */
const LEGIBLE = 0.7;

/** All of it where it can be read as a whole, or else the active message. */
function begin({ layout, place }: Subject, size: Size): Camera {
  const whole = fitted(boundsOf(layout), size);
  if (whole.scale >= LEGIBLE || place === null) return whole;
  return centred({ ...whole, scale: 0.8 }, place, size);
}

export function useWindow(area: { current: HTMLElement | null }, subject: Subject): Window {
  const size = useSignal<Size>({ width: 1000, height: 700 });
  const camera = useSignal<Camera | null>(null);
  const latest = useRef(subject);
  const before = latest.current;
  const { layout, root, active, place } = subject;
  // Where the tree changed, the active message stays where it is seen.
  if (before.layout !== layout && before.root === root && before.active === active) {
    const present = camera.peek();
    if (present && before.place && place) {
      const x = present.x + place.left - before.place.left;
      const y = present.y + place.top - before.place.top;
      camera.value = { ...present, x, y };
    }
  }
  latest.current = subject;

  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return undefined;
    const measure = () => {
      size.value = { width: Math.max(1, element.clientWidth), height: Math.max(1, element.clientHeight) };
      camera.value ??= begin(latest.current, size.value);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.focus({ preventScroll: true });
    const ended = moves(element, camera);
    return () => {
      observer.disconnect();
      ended();
    };
  }, []);
  useEffect(() => {
    if (place && camera.value) camera.value = showing(camera.value, place, size.value);
  }, [active]);
  const shownRoot = useRef(root);
  useEffect(() => {
    if (shownRoot.current === root) return;
    shownRoot.current = root;
    camera.value = begin(latest.current, size.value);
  }, [root]);

  return {
    camera,
    size,
    zoom: (factor) => {
      const middle = { x: size.value.width / 2, y: size.value.height / 2 };
      if (camera.value) camera.value = zoomed(camera.value, factor, middle);
    },
    move: (x, y) => {
      const present = camera.value;
      if (present) camera.value = { ...present, x: present.x + x / present.scale, y: present.y + y / present.scale };
    },
    showAll: () => {
      camera.value = fitted(boundsOf(layout), size.value);
    },
    showActive: () => {
      const present = camera.value;
      if (!place || !present) return;
      camera.value = centred({ ...present, scale: Math.max(present.scale, 0.8) }, place, size.value);
    },
  };
}
