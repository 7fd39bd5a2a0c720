// Whether the page is looked at. A browser opens six connections to a server, and every stream of events holds one: a page
// that is not seen gives its streams back, and continues them when it is seen again.

/** How long a page may be hidden before its streams end, in milliseconds. */
const PATIENCE = 5000;

/** Calls `change` when the page is hidden for a while, and when it is seen again. Returns what ends it. */
export function watchAttention(change: (isSeen: boolean) => void): () => void {
  if (typeof document === 'undefined') return () => undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => change(false), PATIENCE);
    else change(true);
  };
  document.addEventListener('visibilitychange', look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}
