// Markdown as tokens. They become elements one by one (view/Markdown.tsx): no HTML is ever made of a text.
import { drawnLength } from './plain';
import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens } from 'marked';

export type { Token, Tokens } from 'marked';

/** Mathematics: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`. */
export interface MathToken {
  type: 'math';
  raw: string;
  text: string;
  isBlock: boolean;
}

const INLINE = /^(?:\$\$([^$\n]+)\$\$|\$(?![\s\d]+(?:[.,\s]|$))((?:\\.|[^$\\\n])+?)(?<!\s)\$(?!\d)|\\\(([^\n]+?)\\\))/;
/** How long a block of mathematics may be. */
const FORMULA = 5000;

const inlineMath: TokenizerAndRendererExtension = {
  name: 'math',
  level: 'inline',
  start: (source) => firstOf(source, ['$', '\\(']),
  tokenizer: (source) => {
    const found = INLINE.exec(source);
    if (!found) return undefined;
    return { type: 'math', raw: found[0], text: found[1] ?? found[2] ?? found[3] ?? '', isBlock: false };
  },
};

const blockMath: TokenizerAndRendererExtension = {
  name: 'mathBlock',
  level: 'block',
  start: (source) => {
    const places = ['$$', '\\['].map((sign) => lineWith(source, sign)).filter((place) => place >= 0);
    return places.length > 0 ? Math.min(...places) : undefined;
  },
  tokenizer: (source) => {
    const formula = formulaAt(source);
    return formula ? { type: 'math', raw: formula.raw, text: formula.text, isBlock: true } : undefined;
  },
};

/** Returns the block of mathematics that a text begins with. */
function formulaAt(source: string): { raw: string; text: string } | null {
  const close = source.startsWith('$$') ? '$$' : source.startsWith('\\[') ? '\\]' : null;
  if (close === null) return null;
  const end = source.slice(2, FORMULA).indexOf(close);
  const text = source.slice(2, end + 2).trim();
  const after = end < 0 ? null : /^[ \t]*(?:\n|$)/.exec(source.slice(end + 4, end + FORMULA));
  if (!after || text === '') return null;
  return { raw: source.slice(0, end + 4 + after[0].length), text };
}

/** Where the first block of mathematics begins that has this sign, or -1. It begins a line. */
function lineWith(source: string, sign: string): number {
  let place = source.indexOf(sign);
  // A text of many such signs that are no mathematics is not searched any further.
  for (let tries = 0; place >= 0 && tries < 20; tries += 1) {
    if (source[place - 1] === '\n' && formulaAt(source.slice(place)) !== null) return place;
    place = source.indexOf(sign, place + 1);
  }
  return -1;
}

function firstOf(source: string, signs: readonly string[]): number | undefined {
  const places = signs.map((sign) => source.indexOf(sign)).filter((place) => place >= 0);
  return places.length > 0 ? Math.min(...places) : undefined;
}

const marked = new Marked({ gfm: true, breaks: true, async: false });
marked.use({ extensions: [inlineMath, blockMath] });

/** How long a line may be: the rules of Markdown take too long on longer ones. */
const LINE = 10_000;
/** How many signs of nesting a line may begin with. */
const NESTING = /(?:^|\n)(?:[ \t]*(?:>|[-*+]|\d+[.)])){40}/;
/** A list that is so deep by its spaces. */
const DEEP = /(?:^|\n)[ \t]{80,}(?:[-*+]|\d+[.)])[ \t]/;
/** The line below the head of a table, which says how many columns it has. */
const COLUMNS = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|[-|: \t]*$/;
/** How many cells may be read: every row has all columns, given or not. */
const CELLS = 20_000;
const REPEATED = /([[(*_~`<!])\1{200}/;

/** Returns the blocks of a text, or `null` for a text that is to be shown as it is. */
export function blocks(text: string): Token[] | null {
  if (isHostile(text)) return null;
  try {
    return marked.lexer(text);
  } catch {
    // Too deep, for instance.
    return null;
  }
}

function isHostile(text: string): boolean {
  let begin = 0;
  let lines = 0;
  let columns = 0;
  while (begin < text.length) {
    const end = text.indexOf('\n', begin);
    const stop = end < 0 ? text.length : end;
    if (stop - begin > LINE) return true;
    const line = text.slice(begin, stop);
    if (line.includes('-') && COLUMNS.test(line)) columns = Math.max(columns, line.split('|').length);
    lines += 1;
    begin = stop + 1;
  }
  return columns * lines > CELLS || NESTING.test(text) || REPEATED.test(text) || DEEP.test(text);
}

/** How much of a message is drawn at once, counted in elements. */
export const WEIGHT = 3000;
/** How many rows of a table, and entries of a list, are drawn at once. */
export const ROWS = 200;
/** How many characters are read at a time. */
const STEP = 20_000;
/** How long a block may be that is not code: a longer one is shown as it is. */
const LONGEST = 2 * STEP;

/** A part of a text that is shown as it is. */
export interface PlainToken {
  type: 'plain';
  raw: string;
}

/** How many elements a block becomes, about; it is not counted further than `most`. */
export function weigh(token: Token, most = WEIGHT): number {
  let weight = (token.raw.length / drawnLength(token.raw)) * WEIGHT;
  const waiting: Token[] = [token];
  for (let next = waiting.pop(); next && weight <= most; next = waiting.pop()) {
    // Code has a frame and colours, and a formula has many elements.
    weight += next.type === 'code' ? 12 + Math.min(next.raw.length, 20_000) / 25 : next.type === 'math' ? 8 : 1;
    if (next.type === 'table') {
      const { header } = next as Tokens.Table;
      const rows = (next as Tokens.Table).rows.slice(0, ROWS);
      weight += header.length * (rows.length + 1);
      if (weight > most) break;
      for (const cells of [header, ...rows]) for (const cell of cells) waiting.push(...cell.tokens);
    }
    if (next.type === 'list') waiting.push(...(next as Tokens.List).items.slice(0, ROWS));
    if ('tokens' in next && next.tokens) waiting.push(...next.tokens);
  }
  return weight;
}

function plain(raw: string): Token {
  return { type: 'plain', raw };
}

export interface Read {
  tokens: Token[];
  /** How many characters of the text they are. */
  length: number;
}

/** Reads the blocks of a text from its beginning, until they have a weight. `null` for a text that is shown as it is. */
export function readBlocks(text: string, most = WEIGHT): Read | null {
  const read: Read = { tokens: [], length: 0 };
  let weight = 0;
  let step = STEP;
  while (read.length < text.length && weight < most) {
    const isWhole = text.length - read.length <= step;
    const slice = text.slice(read.length, isWhole ? text.length : read.length + step);
    const found = blocks(slice);
    if (found === null)
      return read.length === 0
        ? null
        : { tokens: [...read.tokens, plain(text.slice(read.length))], length: text.length };
    let end = found.length - 1;
    while (end > 0 && found[end]?.type === 'space') end -= 1;
    const isTooLong = step >= LONGEST && found[0]?.type !== 'code';
    if (!isWhole && end === 0 && !isTooLong) {
      step *= 2;
      continue;
    }
    const ended = isWhole || end === 0 ? found : found.slice(0, end);
    // Never the same twice, whatever was read.
    if (ended.length === 0) return { tokens: [...read.tokens, plain(text.slice(read.length))], length: text.length };
    for (const token of ended) {
      const added = isTooLong && end === 0 ? WEIGHT + 1 : weigh(token);
      // One block alone may be more than is drawn at once.
      if (weight > 0 && weight + added > most && read.tokens.some((other) => other.type !== 'space')) return read;
      read.tokens.push(added > WEIGHT ? plain(token.raw) : token);
      read.length += token.raw.length;
      weight += added;
    }
    step = STEP;
  }
  return read;
}

/** The blocks of a text that grows: those that have ended are kept, only the last one is read again. */
export class GrowingBlocks {
  readonly ended: Token[] = [];
  last: Token[] = [];
  isPlain = false;
  #length = 0;
  #weight = 0;

  /** Reads the text so far. */
  read(text: string): void {
    const rest = text.slice(this.#length);
    // What is too long or has too many parts is shown as it is until it is whole.
    const isMuch = this.#weight > WEIGHT || (rest.length > STEP && weighs(this.last) > 1000);
    const read = this.isPlain || isMuch ? null : blocks(rest);
    if (read === null) {
      this.isPlain = true;
      return;
    }
    // A list or a table may continue after an empty line, so the last block with words stays open.
    let open = read.length - 1;
    while (open > 0 && read[open]?.type === 'space') open -= 1;
    for (let at = 0; at < open; at += 1) {
      const block = read[at];
      if (!block) continue;
      this.ended.push(block);
      this.#length += block.raw.length;
      this.#weight += weigh(block);
    }
    this.last = read.slice(Math.max(0, open));
  }
}

function weighs(tokens: readonly Token[]): number {
  return tokens.reduce((sum, token) => sum + weigh(token), 0);
}
