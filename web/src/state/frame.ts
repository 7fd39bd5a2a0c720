// Work that is done at most once a frame.

/** Calls `work` with the next frame, or a moment later where the page is not drawn. */
export function nextFrame(work: () => void): void {
  if (document.hidden) setTimeout(work, 100);
  else requestAnimationFrame(work);
}

/** Returns a function that calls `work` once a frame, however often it is called. */
export function oncePerFrame(work: () => void): () => void {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    nextFrame(() => {
      isWaiting = false;
      work();
    });
  };
}
