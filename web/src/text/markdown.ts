// Markdown as tokens. They become elements one by one (view/Markdown.tsx): no HTML is ever made of a text.
import { Marked, type Token, type TokenizerAndRendererExtension } from 'marked';

export type { Token, Tokens } from 'marked';

/** Mathematics: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`. */
export interface MathToken {
  type: 'math';
  raw: string;
  text: string;
  isBlock: boolean;
}

const INLINE = /^(?:\$\$([^$\n]+)\$\$|\$(?![\s\d]+(?:[.,\s]|$))((?:\\.|[^$\\\n])+?)(?<!\s)\$(?!\d)|\\\(([^\n]+?)\\\))/;
const BLOCK = /^(?:\$\$\s*\n?([^$]+?)\n?\s*\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/;

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
  start: (source) => firstOf(source, ['$$', '\\[']),
  tokenizer: (source) => {
    const found = BLOCK.exec(source);
    if (!found) return undefined;
    return { type: 'math', raw: found[0], text: found[1] ?? found[2] ?? '', isBlock: true };
  },
};

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
  while (begin < text.length) {
    const end = text.indexOf('\n', begin);
    const stop = end < 0 ? text.length : end;
    if (stop - begin > LINE) return true;
    begin = stop + 1;
  }
  return NESTING.test(text) || REPEATED.test(text);
}

/** The blocks of a text that grows: those that have ended are kept, only the last one is read again. */
export class GrowingBlocks {
  readonly ended: Token[] = [];
  last: Token[] = [];
  isPlain = false;
  #length = 0;

  /** Reads the text so far. */
  read(text: string): void {
    const rest = text.slice(this.#length);
    const read = this.isPlain ? null : blocks(rest);
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
    }
    this.last = read.slice(Math.max(0, open));
  }
}
