// Where a picture is looked at: its place at the top left of the window, and how large it is.

export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Bounds {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export const SMALLEST = 0.002;
export const LARGEST = 2.5;

/** Zooms so that a point of the window stays where it is. */
export function zoomed(camera: Camera, factor: number, at: { x: number; y: number }): Camera {
  const scale = Math.max(SMALLEST, Math.min(LARGEST, camera.scale * factor));
  const x = camera.x + at.x / camera.scale - at.x / scale;
  const y = camera.y + at.y / camera.scale - at.y / scale;
  return { x, y, scale };
}

/** What of the picture is seen. */
export function seen(camera: Camera, size: Size): Bounds {
  return {
    left: camera.x,
    right: camera.x + size.width / camera.scale,
    top: camera.y,
    bottom: camera.y + size.height / camera.scale,
  };
}

/** Shows all of it in the middle, with a margin; at most at full size. */
export function fitted(bounds: Bounds, size: Size): Camera {
  const margin = 32;
  // The buttons are over its top.
  const above = 64;
  const width = Math.max(1, bounds.right - bounds.left);
  const height = Math.max(1, bounds.bottom - bounds.top);
  const wanted = Math.min((size.width - 2 * margin) / width, (size.height - margin - above) / height, 1);
  const scale = Math.max(SMALLEST, wanted);
  const free = Math.max(0, size.height - margin - above - height * scale);
  return {
    x: (bounds.left + bounds.right) / 2 - size.width / 2 / scale,
    y: bounds.top - (above + free / 2) / scale,
    scale,
  };
}

/** Moves as little as is needed to see a part. */
export function showing(camera: Camera, bounds: Bounds, size: Size): Camera {
  const margin = 24 / camera.scale;
  const window = seen(camera, size);
  let { x, y } = camera;
  if (bounds.left < window.left + margin) x = bounds.left - margin;
  else if (bounds.right > window.right - margin) x = bounds.right + margin - (window.right - window.left);
  if (bounds.top < window.top + margin) y = bounds.top - margin;
  else if (bounds.bottom > window.bottom - margin) y = bounds.bottom + margin - (window.bottom - window.top);
  return { ...camera, x, y };
}

/** Puts the middle of a part in the middle of the window. */
export function centred(camera: Camera, bounds: Bounds, size: Size): Camera {
  const x = (bounds.left + bounds.right) / 2 - size.width / 2 / camera.scale;
  const y = (bounds.top + bounds.bottom) / 2 - size.height / 2 / camera.scale;
  return { ...camera, x, y };
}
