// Two texts compared word by word.

export type Change = 'same' | 'removed' | 'added';

export interface Piece {
  change: Change;
  text: string;
}

/** How many words that differ are compared; longer texts are compared as a whole, which the caller is told. */
const MOST = 4000;
/** How much work one comparison may be. */
const WORK = 4_000_000;

export interface WordDiff {
  pieces: Piece[];
  /** Whether the texts were too long to be compared by word: then the part that differs is one piece. */
  isCoarse: boolean;
}

/** Splits a text into words, spaces and signs, so that it is the same when it is put together again. */
export function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}\p{M}_]+|\s+|[^\p{L}\p{N}\p{M}_\s]/gu) ?? [];
}

function add(pieces: Piece[], change: Change, text: string): void {
  if (text === '') return;
  const last = pieces[pieces.length - 1];
  if (last?.change === change) last.text += text;
  else pieces.push({ change, text });
}

/** The shortest way from one list of words to the other, after Myers; `null` where it is too much work. */
function edits(left: readonly string[], right: readonly string[]): Piece[] | null {
  const most = left.length + right.length;
  const steps: Int32Array[] = [];
  const far = new Int32Array(2 * most + 2);
  let work = 0;
  for (let distance = 0; distance <= most; distance += 1) {
    work += distance;
    if (work * 4 > WORK) return null;
    steps.push(far.slice(most - distance, most + distance + 2));
    for (let diagonal = -distance; diagonal <= distance; diagonal += 2) {
      const isDown =
        diagonal === -distance ||
        (diagonal !== distance && value(far, most, diagonal - 1) < value(far, most, diagonal + 1));
      let x = isDown ? value(far, most, diagonal + 1) : value(far, most, diagonal - 1) + 1;
      let y = x - diagonal;
      while (x < left.length && y < right.length && left[x] === right[y]) {
        x += 1;
        y += 1;
      }
      far[most + diagonal] = x;
      if (x >= left.length && y >= right.length) return back(left, right, steps);
    }
  }
  return null;
}

function value(far: Int32Array, most: number, diagonal: number): number {
  return far[most + diagonal] ?? 0;
}

/** Walks the way back, and returns its pieces in their order. */
function back(left: readonly string[], right: readonly string[], steps: readonly Int32Array[]): Piece[] {
  const found: Piece[] = [];
  let x = left.length;
  let y = right.length;
  for (let distance = steps.length - 1; distance >= 0; distance -= 1) {
    const far = steps[distance];
    const at = (diagonal: number) => far?.[diagonal + distance] ?? 0;
    const diagonal = x - y;
    const isDown = diagonal === -distance || (diagonal !== distance && at(diagonal - 1) < at(diagonal + 1));
    const before = distance === 0 ? 0 : isDown ? diagonal + 1 : diagonal - 1;
    const beginX = distance === 0 ? 0 : at(before);
    const beginY = distance === 0 ? 0 : beginX - before;
    const turnX = distance === 0 ? 0 : isDown ? beginX : beginX + 1;
    while (x > turnX && y > 0 && x > 0 && (distance > 0 ? x - y === diagonal : true)) {
      found.push({ change: 'same', text: left[x - 1] ?? '' });
      x -= 1;
      y -= 1;
    }
    if (distance === 0) break;
    if (isDown) found.push({ change: 'added', text: right[beginY] ?? '' });
    else found.push({ change: 'removed', text: left[beginX] ?? '' });
    x = beginX;
    y = beginY;
  }
  const pieces: Piece[] = [];
  for (const piece of found.reverse()) add(pieces, piece.change, piece.text);
  return pieces;
}

const WORD = /[\p{L}\p{N}]/u;

/** Joins what changed around spaces and signs alone, so that it reads as a phrase that was replaced. */
function phrases(pieces: readonly Piece[]): Piece[] {
  const found: Piece[] = [];
  let removed = '';
  let added = '';
  const end = () => {
    add(found, 'removed', removed);
    add(found, 'added', added);
    removed = '';
    added = '';
  };
  pieces.forEach((piece, index) => {
    const isBetween = removed !== '' && added !== '' && (pieces[index + 1]?.change ?? 'same') !== 'same';
    const isJoined = piece.change === 'same' && isBetween && piece.text.length <= 2 && !WORD.test(piece.text);
    if (piece.change !== 'added' && (piece.change === 'removed' || isJoined)) removed += piece.text;
    if (piece.change !== 'removed' && (piece.change === 'added' || isJoined)) added += piece.text;
    if (piece.change !== 'same' || isJoined) return;
    end();
    add(found, 'same', piece.text);
  });
  end();
  return found;
}

/** Compares two texts by their words. */
export function compareWords(left: string, right: string): WordDiff {
  const one = wordsOf(left);
  const other = wordsOf(right);
  let begin = 0;
  while (begin < one.length && begin < other.length && one[begin] === other[begin]) begin += 1;
  let end = 0;
  while (
    end < one.length - begin &&
    end < other.length - begin &&
    one[one.length - 1 - end] === other[other.length - 1 - end]
  ) {
    end += 1;
  }
  const removed = one.slice(begin, one.length - end);
  const added = other.slice(begin, other.length - end);
  const middle = removed.length + added.length > MOST ? null : edits(removed, added);
  const pieces: Piece[] = [];
  add(pieces, 'same', one.slice(0, begin).join(''));
  for (const piece of middle ?? []) add(pieces, piece.change, piece.text);
  if (middle === null) {
    add(pieces, 'removed', removed.join(''));
    add(pieces, 'added', added.join(''));
  }
  add(pieces, 'same', one.slice(one.length - end).join(''));
  return { pieces: phrases(pieces), isCoarse: middle === null };
}
