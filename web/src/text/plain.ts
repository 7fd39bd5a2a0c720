// Texts of others, made safe to look at: nothing in them moves other text, hides, or freezes the page.

/** A piece of a text: words, or a control sign that is shown by its name. */
export type Piece = string | { code: string; name: string };

const BIDI: Record<string, string> = {
  '\u061c': 'ALM',
  '\u200e': 'LRM',
  '\u200f': 'RLM',
  '\u202a': 'LRE',
  '\u202b': 'RLE',
  '\u202c': 'PDF',
  '\u202d': 'LRO',
  '\u202e': 'RLO',
  '\u2066': 'LRI',
  '\u2067': 'RLI',
  '\u2068': 'FSI',
  '\u2069': 'PDI',
};

// Sequences of terminals: CSI, OSC, and those of two signs.
// eslint-disable-next-line no-control-regex
const ANSI = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-Z\\-_]/g;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const SHOWN = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Marks over one letter: fonts need minutes for thousands of them. */
const MARKS = /(\p{M}{16})\p{M}+/gu;

/** Removes sequences of terminals, and replaces what is no character. */
export function clean(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(ANSI, '')
    .replace(LONE, '\ufffd')
    .replace(CONTROL, '\ufffd')
    .replace(MARKS, '$1\ufffd');
}

/** How many signs of direction of a text are shown by their names; of more, what remains is no text to be read. */
const MOST = 500;
const MANY = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g;

/** A name of others, on one line: no sign in it moves what is beside it. */
export function plainName(text: string): string {
  return clean(cut(text, 2000)).replace(MANY, '\ufffd').replace(/\s+/g, ' ');
}

/** Splits a text at signs that change its direction, so that they are seen. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let begin = 0;
  for (const match of text.matchAll(SHOWN)) {
    if (found.length >= 2 * MOST) return [...found, text.slice(begin).replace(MANY, '\ufffd')];
    if (match.index > begin) found.push(text.slice(begin, match.index));
    const sign = match[0];
    const code = `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
    found.push({ code, name: BIDI[sign] ?? '' });
    begin = match.index + sign.length;
  }
  if (begin < text.length) found.push(text.slice(begin));
  return found;
}

/** How long a text is that is drawn at once. */
export const LONG = 100_000;

// Letters that are written to the left, signs that change the direction, and what stands for a character that is none.
const TURNING = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\ufffd]/;

/** How long a text is that is drawn at once: each change of direction takes time. */
export function drawnLength(text: string): number {
  return TURNING.test(cut(text, LONG)) ? LONG / 5 : LONG;
}

/** Cuts a text at a place where no character is divided. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const isDivided = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isDivided ? length - 1 : length);
}

/** Returns the first words of a text on one line, for lists. */
export function summary(text: string, length = 120): string {
  const line = clean(cut(text, 4 * length))
    .replace(SHOWN, '')
    .replace(/[`*_#>]+/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const short = cut(line, length);
  return short.length < line.length ? `${short.trimEnd()}…` : short;
}
