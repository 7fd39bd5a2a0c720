// Requests around the conversations: searches with conditions, documents, prompts, flows, usage and costs.
import type { Client } from './client';
import type { Conversation, Hit, HitPage, Node, Page } from './types';

/** What narrows a search. Empty texts are no conditions. */
export interface Conditions {
  text: string;
  createdAfter: number | null;
  createdBefore: number | null;
  updatedAfter: number | null;
  updatedBefore: number | null;
  /** Names and values of the metadata. */
  metadata: readonly (readonly [string, string])[];
  sort: string;
}

export interface Imported {
  imported: { id: string; nodes: number; repaired: string[] }[];
  refused: string[];
}

export interface PromptInfo {
  id: string;
  kind: string;
  name: string;
  version: string | null;
  digest: string;
  texts: string[];
  variables: string[];
  required: string[];
  defaults: Record<string, unknown>;
  input: unknown;
  model: string | null;
  sampling: Record<string, unknown>;
  metadata: Record<string, unknown>;
}

export interface RenderedPrompt {
  prompt: Record<string, unknown>;
  messages: { role: string; content: string }[];
  model: string | null;
  sampling: Record<string, unknown>;
}

export interface Flow {
  id: string;
  states: string[];
  variables: Record<string, string>;
  asks_model: boolean;
  digest: string;
  mermaid: string;
}

export interface Wait {
  state: string;
  flow: string;
  branch: string | null;
  expects: unknown;
  is_approval: boolean;
  node: string | null;
  since: number | null;
  due: number | null;
  late: string | null;
}

export interface FlowStep {
  node: string;
  step: number;
  flow: string;
  state: string;
  kind: string;
  by?: string | null;
  decision?: boolean | null;
  text: string;
}

export interface FlowRun {
  id: string;
  flow: string;
  progress: Record<string, unknown> | null;
  state: string | null;
  step: number;
  variables: Record<string, unknown>;
  waits: Wait[];
  steps: FlowStep[];
}

export interface FlowAnswer {
  answer?: unknown;
  by?: string;
  state?: string;
  branch?: string;
  late?: boolean;
  model?: string;
}

export interface UsageReport {
  owner: string;
  limits: {
    calls_per_minute: number | null;
    tokens_per_day: number | null;
    running: number;
    waiting: number;
  };
  used: {
    tokens: number | null;
    tokens_reset: number | null;
    next_call: number | null;
    running: number;
    waiting: number;
  };
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

export interface Capabilities {
  text: boolean;
  image: boolean;
  audio: boolean;
  video: boolean;
  logprobs: boolean;
  score: boolean;
  tools: boolean | null;
  prompt: boolean;
  prefix: boolean;
}

export interface AboutModel {
  id: string;
  aliases: string[];
  loaded: boolean;
  context_length: number | null;
  capabilities: Capabilities | null;
}

export interface About {
  name: string;
  version: string;
  models: AboutModel[];
  embeddings: string[];
  rerankers: string[];
  prompts: boolean;
  flows: boolean;
  /** Whether the host has tools; older servers do not say it. */
  tools?: boolean;
  keys: boolean;
}

/** A server of tools that the host has. */
export interface ToolServer {
  id: string;
  tools: { name: string; description: string }[];
  error: string | null;
}

function of(id: string, rest = ''): string {
  return `v1/alloquy/conversations/${encodeURIComponent(id)}${rest}`;
}

/** Writes conditions as the parameters of an address. */
export function parametersOf(conditions: Conditions): URLSearchParams {
  const query = new URLSearchParams();
  const text = conditions.text.trim();
  if (text !== '') query.set('text', text);
  const times = [
    ['created_after', conditions.createdAfter],
    ['created_before', conditions.createdBefore],
    ['updated_after', conditions.updatedAfter],
    ['updated_before', conditions.updatedBefore],
  ] as const;
  for (const [name, seconds] of times) if (seconds !== null) query.set(name, `${seconds}`);
  for (const [name, value] of conditions.metadata) if (name.trim() !== '') query.set(`metadata[${name.trim()}]`, value);
  if (conditions.sort !== '') query.set('sort', conditions.sort);
  return query;
}

export function listConversations(
  client: Client,
  conditions: Conditions,
  after: string | null,
  signal: AbortSignal,
): Promise<Page<Conversation>> {
  const query = parametersOf(conditions);
  query.set('limit', '50');
  if (after !== null) query.set('after', after);
  return client.request(`v1/alloquy/conversations?${query.toString()}`, { signal });
}

export function searchMessages(
  client: Client,
  conditions: Conditions,
  cursor: string | null,
  signal: AbortSignal,
): Promise<HitPage & { data: Hit[] }> {
  const query = parametersOf(conditions);
  query.set('limit', '50');
  if (cursor !== null) query.set('cursor', cursor);
  return client.request(`v1/alloquy/search?${query.toString()}`, { signal });
}

export function node(client: Client, conversation: string, id: string, signal: AbortSignal): Promise<Node> {
  return client.request(of(conversation, `/nodes/${encodeURIComponent(id)}`), { signal });
}

/** Stores the conversations of a document; its format is recognized unless it is given. */
export function importDocument(client: Client, document: string, format: string | null): Promise<Imported> {
  const body = format === null ? { document } : { document, format };
  return client.request('v1/alloquy/import', { method: 'POST', body });
}

export async function allPrompts(client: Client): Promise<PromptInfo[]> {
  const all: PromptInfo[] = [];
  for (;;) {
    const query = new URLSearchParams({ limit: '100', order: 'asc' });
    const last = all[all.length - 1];
    if (last) query.set('after', last.id);
    const page = await client.request<Page<PromptInfo>>(`v1/alloquy/prompts?${query.toString()}`);
    all.push(...page.data);
    if (!page.has_more || page.data.length === 0) return all;
  }
}

/** The address of a prompt by its id, which is `KIND/NAME`, and may end with `@` and a version. */
function promptPath(id: string): string {
  const [kind = '', ...rest] = id.split('/');
  return `v1/alloquy/prompts/${encodeURIComponent(kind)}/${encodeURIComponent(rest.join('/'))}`;
}

export function prompt(client: Client, id: string): Promise<PromptInfo> {
  return client.request(promptPath(id));
}

export function renderPrompt(client: Client, id: string, values: Record<string, unknown>): Promise<RenderedPrompt> {
  return client.request(`${promptPath(id)}/render`, { method: 'POST', body: { values } });
}

export async function allFlows(client: Client): Promise<Flow[]> {
  return (await client.request<Page<Flow>>('v1/alloquy/flows')).data;
}

function runs(name: string, id?: string): string {
  const path = `v1/alloquy/flows/${encodeURIComponent(name)}/runs`;
  return id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
}

export function beginFlow(client: Client, name: string, body: Record<string, unknown>): Promise<FlowRun> {
  return client.request(runs(name), { method: 'POST', body });
}

export function flowRun(client: Client, name: string, id: string): Promise<FlowRun> {
  return client.request(runs(name, id));
}

export function answerFlow(client: Client, name: string, id: string, answer: FlowAnswer): Promise<FlowRun> {
  return client.request(runs(name, id), { method: 'POST', body: answer });
}

export function usage(client: Client): Promise<UsageReport> {
  return client.request('v1/alloquy/usage');
}

/** The cost of a conversation, or of the line to a node. */
export function cost(client: Client, conversation: string, to: string | null): Promise<Cost> {
  const query = to === null ? '' : `?node=${encodeURIComponent(to)}`;
  return client.request(of(conversation, `/cost${query}`));
}

export async function hostTools(client: Client): Promise<ToolServer[]> {
  return (await client.request<Page<ToolServer>>('v1/alloquy/tools')).data;
}

export function about(client: Client): Promise<About> {
  return client.request('v1/alloquy/page');
}
