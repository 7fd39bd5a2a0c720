// The styles that are loaded after the first paint. The page names their file, whose name has a digest.

/** Adds the styles of the screens around the conversation. */
export function addLateStyle(): void {
  const named = document.querySelector<HTMLMetaElement>('meta[name="late-style"]');
  if (named === null) return;
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = named.content;
  document.head.append(link);
}
