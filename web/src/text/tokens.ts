// Tokens as people read them, and how a long row of them is divided so that only what is seen is drawn.
import { clean } from './plain';

export interface Chunk {
  begin: number;
  end: number;
}

/** A chunk ends after a line when it has so many tokens. */
const SHORT = 24;
/** A chunk has at most so many. */
const LONGEST = 128;
/** What a chunk has at most of characters, unless one token has more. */
const CHARACTERS = 2000;

/** Divides a row of tokens into chunks, each of a few lines. */
export function chunksOf(count: number, textOf: (index: number) => string): Chunk[] {
  const chunks: Chunk[] = [];
  let begin = 0;
  let length = 0;
  for (let index = 0; index < count; index += 1) {
    const text = textOf(index);
    length += text.length;
    const size = index + 1 - begin;
    const isFull = size >= LONGEST || length >= CHARACTERS;
    if (!isFull && !(size >= SHORT && text.includes('\n'))) continue;
    chunks.push({ begin, end: index + 1 });
    begin = index + 1;
    length = 0;
  }
  if (begin < count) chunks.push({ begin, end: count });
  return chunks;
}

/** The chunk of a token, found by halves. */
export function chunkAt(chunks: readonly Chunk[], index: number): number {
  let low = 0;
  let high = Math.max(0, chunks.length - 1);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((chunks[middle]?.begin ?? 0) <= index) low = middle;
    else high = middle - 1;
  }
  return low;
}

export interface AnyToken {
  id: number | null;
  text: string | null;
  bytes?: number[];
  media?: string;
}

/** The longest text of one token that is drawn. */
const TEXT = 200;

/** Returns what is drawn for a token: signs that are not seen have one that is. */
export function visible(token: AnyToken): string {
  if (token.media !== undefined) return '▣';
  if (token.bytes) return token.bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join(' ');
  if (token.text === null) return `#${token.id ?? ''}`;
  if (token.text === '') return '∅';
  const text = token.text.length > TEXT ? `${token.text.slice(0, TEXT)}…` : token.text;
  const seen = text.replace(/\r/g, '␍').replace(/\t/g, '⇥').replace(/\n/g, '⏎');
  // Only spaces would be seen as nothing; others at the edges are.
  return clean(/^ +$/.test(seen) ? seen.replace(/ /g, '␣') : seen);
}

/** Divides pieces of text at their lines, and long lines at `longest` characters, so that each is small. */
export function linesOf<T extends { text: string }>(pieces: readonly T[], longest = 400): T[] {
  const lines: T[] = [];
  for (const piece of pieces) {
    let begin = 0;
    while (begin < piece.text.length) {
      const newline = piece.text.indexOf('\n', begin);
      const line = newline < 0 ? piece.text.length : newline + 1;
      let end = Math.min(line, begin + longest);
      const last = piece.text.charCodeAt(end - 1);
      if (end < line && last >= 0xd800 && last <= 0xdbff) end += 1;
      lines.push({ ...piece, text: piece.text.slice(begin, end) });
      begin = end;
    }
  }
  return lines;
}

/** Consecutive tokens of one origin. */
export interface Run extends Chunk {
  origin: string | null;
}

export function runsOf(tokens: readonly { origin: string | null }[]): Run[] {
  const runs: Run[] = [];
  tokens.forEach(({ origin }, index) => {
    const last = runs.at(-1);
    if (last && last.origin === origin) last.end = index + 1;
    else runs.push({ origin, begin: index, end: index + 1 });
  });
  return runs;
}

/** How unlikely a token was: 0 is at least 90 %, 5 is below 1 %. */
export function heatOf(logprob: number): number {
  const bounds = [0.9, 0.5, 0.2, 0.05, 0.01];
  const probability = Math.exp(logprob);
  const found = bounds.findIndex((bound) => probability >= bound);
  return found < 0 ? bounds.length : found;
}

/** Returns the ids of a reply up to a token, with another token in its place. */
export function branchPrefix(before: readonly { id: number }[], index: number, chosen: number): number[] {
  return [...before.slice(0, index).map((token) => token.id), chosen];
}

/** How often a text cites each number in brackets, as `[1]` or `[1, 2]`. */
export function citations(text: string): Map<number, number> {
  const counts = new Map<number, number>();
  for (const match of text.matchAll(/\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]/g)) {
    for (const part of (match[1] ?? '').split(',')) {
      const number = Number(part);
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
  }
  return counts;
}
