// The matches in a piece of a text. The server counts in bytes.

export interface HighlightPiece {
  text: string;
  isHit: boolean;
}

/** Splits a text at ranges of its bytes. */
export function highlighted(text: string, ranges: readonly (readonly [number, number])[]): HighlightPiece[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const pieces: HighlightPiece[] = [];
  const add = (from: number, to: number, isHit: boolean) => {
    if (to > from) pieces.push({ text: decoder.decode(bytes.subarray(from, to)), isHit });
  };
  let at = 0;
  for (const [from, to] of ranges) {
    if (from < at) continue;
    add(at, from, false);
    add(from, to, true);
    at = to;
  }
  add(at, bytes.length, false);
  return pieces;
}
