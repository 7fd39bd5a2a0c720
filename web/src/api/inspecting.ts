// What the server says of a prompt, of the likelihood of texts, of costs and of its models; only what the page reads.

export const ORIGINS = [
  'template',
  'author',
  'user',
  'retrieved',
  'memory',
  'tool',
  'sampled',
  'spliced',
  'reply',
] as const;

/** Whose a piece of a prompt is. */
export type Origin = (typeof ORIGINS)[number];

export interface PromptToken {
  id: number | null;
  text: string | null;
  bytes?: number[];
  origin: string | null;
  media?: string;
}

export interface ReplyToken {
  id: number;
  text: string | null;
  bytes?: number[];
}

export interface Reuse {
  prompt: number;
  cached: number;
  computed: number;
  first_difference: number | null;
  miss: unknown;
  why: string | null;
}

/** A prompt: what a model receives. */
export interface PromptObject {
  node: string;
  model: string;
  /** Whether the reply reports this very prompt. */
  agrees: boolean | null;
  text: string;
  spans: { text: string; origin: string }[];
  tokens: PromptToken[];
  positions: number;
  context: number;
  template: string | null;
  reuse: Reuse | null;
  reply_tokens: ReplyToken[] | null;
  warnings: unknown[];
}

export interface ScoredToken extends ReplyToken {
  logprob: number;
}

/** A sampled token with the most probable ones at its place. */
export interface SampledToken extends ScoredToken {
  top_logprobs: ScoredToken[];
}

export interface TokenScores {
  node: string | null;
  model: string;
  scores: { text: string; total: number; mean: number | null; tokens: ScoredToken[] }[];
}

export interface Cost {
  currency: string;
  total: string | null;
  known: string;
  replies: number;
  uncounted: number;
  unpriced: string[];
  tokens: { input: number; cached: number; output: number; reasoning: number };
}

/** How long a call of a model took, as the engine measured it. */
export interface CallTiming {
  waiting_ms: number;
  prefill_ms: number;
  prefill_tokens: number;
  /** Since the request. */
  first_token_ms: number | null;
  decode_ms: number;
  decode_tokens: number;
}

export interface ModelAbout {
  id: string;
  aliases: string[];
  loaded: boolean;
  /** What it can do; `null` for a model that is not in memory. */
  capabilities: Record<string, boolean | null> | null;
}

/** What the server says of itself. */
export interface About {
  name: string;
  version: string;
  models: ModelAbout[];
  prompts: boolean;
  flows: boolean;
  keys: boolean;
}
