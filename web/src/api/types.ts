// The objects of the server, as docs/openapi.json describes them; only what the page reads.
import type { CallTiming, SampledToken } from './inspecting';

export interface Call {
  id: string;
  name: string;
  arguments: unknown;
}

/** A call of a tool of the host that waits for an approval. */
export interface WaitingCall {
  call_id: string;
  server_label: string;
  name: string;
  arguments: unknown;
}

/** Tools of the host, as a turn names them. */
export interface HostTools {
  type: 'mcp';
  server_label: string;
  require_approval: 'always' | 'never';
}

/** A part of a message: one of these fields says what it is. */
export interface Part {
  text?: string;
  thinking?: string;
  channel?: { name?: string; text?: string };
  image?: Record<string, unknown>;
  audio?: Record<string, unknown>;
  video?: unknown[];
  tool_call?: Call;
  tool_result?: Record<string, unknown>;
  malformed?: { raw?: string };
  source?: unknown;
}

export interface Usage {
  prompt: number;
  cached: number;
  generated: number;
  thinking: number;
}

export interface Reply {
  model: string;
  finish?: string;
  usage?: Usage;
  cache?: { prompt: number; cached: number; computed: number; first_difference?: number; miss?: unknown };
  seed?: number;
  stop_string?: string;
  error?: string;
  system_prompt?: string;
  warnings?: unknown[];
  facts?: Record<string, unknown>;
  /** How many tokens at its start were given. */
  begun?: number;
}

export interface Node {
  id: string;
  parent: string | null;
  created_at: number;
  role: string;
  text: string;
  parts: Part[];
  status: string;
  label: string | null;
  bookmarks: string[];
  metadata: Record<string, unknown>;
  /** Older servers do not say it. */
  waiting?: WaitingCall[];
  reply: Reply | null;
  prompt: string | null;
}

export interface PrefaceMessage {
  role: string;
  parts: Part[];
}

export interface Conversation {
  id: string;
  name: string;
  created_at: number;
  updated_at: number;
  nodes: number;
  head: string | null;
  preface: { messages?: PrefaceMessage[]; tools?: unknown[] };
  sampling: Record<string, unknown>;
  metadata: Record<string, unknown>;
  revision: number;
}

export interface TreeObject {
  id: string;
  head: string | null;
  nodes: Node[];
  bookmarks: Record<string, string>;
}

export interface Page<T> {
  data: T[];
  has_more: boolean;
}

export interface Hit {
  conversation: string;
  node: string;
  role: string;
  /** `highlights` are pairs of places in the bytes of `text`. */
  snippet: { text: string; highlights: [number, number][]; offset: number; length: number };
  score: number;
}

export interface HitPage extends Page<Hit> {
  next: string | null;
}

export interface Model {
  id: string;
  alloquy: Record<string, unknown>;
}

export interface Notes {
  labels: Record<string, string>;
  bookmarks: Record<string, string>;
}

export interface Turn {
  conversation: string;
  /** How many tokens at the start of the reply were given. */
  begun?: number;
  /** The log-probabilities of the tokens after those. */
  logprobs?: SampledToken[] | null;
  timings?: CallTiming[];
  model: string;
  end: string;
  node: string;
  last: string;
  answers: string | null;
  head: string | null;
  head_moved: boolean;
  text: string;
  nodes: Node[];
  pending: Call[];
  usage: Record<string, unknown>;
  alloquy: Record<string, unknown>;
}

/** What a turn is started with. */
export interface NewTurn {
  action?: 'send' | 'edit' | 'retry' | 'continue';
  node?: string;
  text?: string;
  /** Instead of a text: messages as in Chat Completions, such as those with images. */
  messages?: Record<string, unknown>[];
  /** Instead of a text: a prompt of the library. */
  prompt?: { name: string; values: Record<string, unknown> };
  prefix?: string;
  /** The ids of the tokens that the reply begins with. */
  prefix_tokens?: number[];
  logprobs?: boolean;
  top_logprobs?: number;
  model?: string;
  system_prompt?: string;
  sampling?: Record<string, unknown>;
  reasoning_effort?: string;
  label?: string;
  tools?: HostTools[];
  /** What a person decided on calls of the host's tools. */
  approvals?: { call_id: string; approve: boolean; reason?: string }[];
}

export interface Export {
  format: string;
  document: string;
  omitted: string[];
}

export interface Metadata {
  revision: number;
  metadata: Record<string, unknown>;
  labels: Record<string, string>;
  bookmarks: Record<string, string>;
}

/** Messages that were added without a reply. */
export interface AddedNodes {
  nodes: Node[];
  head: string | null;
  head_moved: boolean;
}

/** What two paths have in common, and what only one of them has. */
export interface Diff {
  common: Node[];
  left: Node[];
  right: Node[];
}

/** What a merge changed, as ids of nodes. */
export interface Merge {
  added: string[];
  pruned: string[];
  pruned_here: string[];
  held: string[];
}

/** How likely texts are as replies: natural logarithms. */
export interface Scores {
  model: string;
  scores: { text: string; total: number; mean: number | null }[];
}

export interface Imported {
  imported: { id: string; nodes: number; repaired: string[] }[];
  refused: string[];
}
