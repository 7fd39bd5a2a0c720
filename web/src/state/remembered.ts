// What this window knows of replies, kept in its own storage: it is there again when the page is loaded again, and gone
// with the window.
import type { ReplyToken, SampledToken, ScoredToken } from '../api/inspecting';
import type { Span } from './timing';

/** The likelihood of a reply's tokens. */
export interface Likely {
  /** How many tokens of the reply stand before these. */
  begun: number;
  tokens: readonly (SampledToken | ScoredToken)[];
  /** Whether they were reported with the reply, and not computed for its text later. */
  isSampled: boolean;
}

/** What is known of replies, by their nodes; the newest are the last. */
export interface Remembered {
  likely: ReadonlyMap<string, Likely>;
  spans: ReadonlyMap<string, readonly Span[]>;
}

/** Other forms are not read. */
const VERSION = 1;
/** How many characters are kept at most: browsers give a window about five million. */
const LENGTH = 1_500_000;

/** A token as a list, since there are many of them: its id, text, logarithm, bytes, and the others at its place. */
type KeptToken = [number, string | null, number, (readonly number[] | null)?, KeptToken[]?];

interface KeptReply {
  node: string;
  begun?: number;
  isSampled?: boolean;
  tokens?: KeptToken[];
  spans?: readonly Span[];
}

function written(token: SampledToken | ScoredToken): KeptToken {
  const { id, text, logprob, bytes } = token;
  // Smaller differences are seen nowhere.
  const short = Math.round(logprob * 1e4) / 1e4;
  if ('top_logprobs' in token) return [id, text, short, bytes ?? null, token.top_logprobs.map(written)];
  return bytes ? [id, text, short, bytes] : [id, text, short];
}

function read([id, text, logprob, bytes, others]: KeptToken): SampledToken | ScoredToken {
  const token: ReplyToken & { logprob: number } = { id, text, logprob };
  if (bytes) token.bytes = [...bytes];
  return others ? { ...token, top_logprobs: others.map(read) } : token;
}

/** Returns the text that is kept: the newest replies, as many as there is room for. */
export function textOf({ likely, spans }: Remembered): string {
  const nodes = new Set([...spans.keys(), ...likely.keys()]);
  const all: string[] = [];
  let length = 0;
  for (const node of [...nodes].reverse()) {
    const reply: KeptReply = { node };
    const found = likely.get(node);
    if (found) {
      reply.begun = found.begun;
      reply.isSampled = found.isSampled;
      reply.tokens = found.tokens.map(written);
    }
    const seen = spans.get(node);
    if (seen) reply.spans = seen;
    const text = JSON.stringify(reply);
    length += text.length + 1;
    if (length > LENGTH) break;
    all.unshift(text);
  }
  return `{"version":${VERSION},"replies":[${all.join(',')}]}`;
}

/** Reads such a text; what is none is nothing. */
export function fromText(text: string | null): Remembered {
  const likely = new Map<string, Likely>();
  const spans = new Map<string, readonly Span[]>();
  try {
    const { version, replies } = JSON.parse(text ?? '{}') as { version?: number; replies?: KeptReply[] };
    for (const { node, begun = 0, isSampled = false, tokens, spans: seen } of version === VERSION
      ? (replies ?? [])
      : []) {
      if (tokens) likely.set(node, { begun, isSampled, tokens: tokens.map(read) });
      if (seen) spans.set(node, seen);
    }
  } catch {
    // Damaged: nothing is known.
  }
  return { likely, spans };
}
