// A text that grows, read out in whole sentences.

/** Cuts the sentences off a text that grows. */
export class Sentences {
  #spoken = 0;

  /** Returns the whole sentences that are new in the text so far; with `isWhole` also the rest. */
  next(text: string, isWhole: boolean): string {
    const rest = text.slice(this.#spoken);
    const end = isWhole ? rest.length : lastEnd(rest);
    if (end === 0) return '';
    this.#spoken += end;
    return rest.slice(0, end).trim();
  }
}

/** The place after the last sentence of a text: a sign of its end, and a space after it. */
function lastEnd(text: string): number {
  let end = 0;
  for (const found of text.matchAll(/[.!?…。！？][)"'»”’]*\s+|\n+/g)) end = found.index + found[0].length;
  return end;
}
