// The one client of the server: every request of the page is a method here.
import { eventsOf, type ServerEvent } from './events';
import type { About, Cost, PromptObject, SampledToken, TokenScores } from './inspecting';
import type {
  AddedNodes,
  Conversation,
  Diff,
  Export,
  Hit,
  HitPage,
  Imported,
  Merge,
  Model,
  NewTurn,
  Node,
  Notes,
  Page,
  Scores,
  TreeObject,
  Turn,
} from './types';

/** Why a request failed: a sentence for people, and what programs compare. `status` is 0 if there was no answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string | null,
    message: string,
  ) {
    super(message);
    this.name = 'ApiError';
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }
}

export interface Options {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  keepalive?: boolean;
}

/** What happens in a turn, in its order. */
export type TurnEvent =
  | { kind: 'started'; model: string }
  | { kind: 'text' | 'thinking'; text: string }
  | { kind: 'channel' | 'call' | 'result'; value: unknown }
  | { kind: 'node'; node: Node }
  | { kind: 'finished'; turn: Turn };

export interface ClientOptions {
  base: string;
  fetch?: typeof fetch;
  key: () => string | null;
  /** Called when the server wants a key, or another one. */
  refused: () => void;
}

function part(text: string): string {
  return encodeURIComponent(text);
}

/** Reads the error of a body, in any of the forms that servers and proxies give it. */
export function sentence(status: number, text: string): { code: string | null; message: string } {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'error' in body) {
      const error = body.error;
      if (typeof error === 'string') return { code: null, message: error };
      if (typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string') {
        const code = 'code' in error && typeof error.code === 'string' ? error.code : null;
        return { code, message: error.message };
      }
    }
  } catch {
    // No JSON: a proxy answered.
  }
  return { code: null, message: `The server answered with status ${status}.` };
}

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async #open(path: string, options: Options = {}): Promise<Response> {
    const headers: Record<string, string> = { ...options.headers };
    const key = this.#options.key();
    if (key) headers['authorization'] = `Bearer ${key}`;
    const init: RequestInit = { method: options.method ?? 'GET', headers, cache: 'no-store' };
    if (options.signal) init.signal = options.signal;
    if (options.keepalive) init.keepalive = true;
    if (options.body !== undefined) {
      headers['content-type'] = 'application/json';
      init.body = JSON.stringify(options.body);
    }
    let response: Response;
    try {
      response = await (this.#options.fetch ?? fetch)(new URL(path, this.#options.base), init);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new ApiError(0, 'unreachable', 'The server does not answer.');
    }
    if (response.ok) return response;
    const { code, message } = sentence(response.status, await response.text());
    if (response.status === 401) this.#options.refused();
    throw new ApiError(response.status, code, message);
  }

  async #json<T>(path: string, options?: Options): Promise<T> {
    const response = await this.#open(path, options);
    return (await response.json()) as T;
  }

  /** Sends a request that has no method here: those of `around.ts`. */
  request<T>(path: string, options: Options = {}): Promise<T> {
    return this.#json(path, options);
  }

  #of(id: string, rest = ''): string {
    return `v1/alloquy/conversations/${part(id)}${rest}`;
  }

  models(): Promise<Page<Model>> {
    return this.#json('v1/models');
  }

  conversations(after: string | null): Promise<Page<Conversation>> {
    const query = new URLSearchParams({ limit: '100' });
    if (after) query.set('after', after);
    return this.#json(`v1/alloquy/conversations?${query.toString()}`);
  }

  search(text: string, cursor: string | null, signal?: AbortSignal): Promise<HitPage> {
    const query = new URLSearchParams({ text, limit: '50' });
    if (cursor) query.set('cursor', cursor);
    return this.#json<HitPage & { data: Hit[] }>(`v1/alloquy/search?${query.toString()}`, signal ? { signal } : {});
  }

  conversation(id: string): Promise<Conversation> {
    return this.#json(this.#of(id));
  }

  create(body: Record<string, unknown>): Promise<Conversation> {
    return this.#json('v1/alloquy/conversations', { method: 'POST', body });
  }

  changeMetadata(id: string, metadata: Record<string, unknown>): Promise<Conversation> {
    return this.#json(this.#of(id), { method: 'POST', body: { metadata } });
  }

  /** `keepalive` lets it end after the page was closed. */
  async remove(id: string, keepalive = false): Promise<void> {
    await this.#open(this.#of(id), { method: 'DELETE', keepalive });
  }

  tree(id: string): Promise<TreeObject> {
    return this.#json(this.#of(id, '/tree'));
  }

  /** The bytes of an image, audio or a video of a node, with the type that they have. */
  async media(id: string, node: string, digest: string): Promise<Blob> {
    const response = await this.#open(this.#of(id, `/nodes/${part(node)}/media/${part(digest)}`));
    return response.blob();
  }

  /** The prompt of a reply as it was sent, or that of another message as it would be. */
  prompt(id: string, node: string, signal?: AbortSignal): Promise<PromptObject> {
    return this.#json(this.#of(id, `/nodes/${part(node)}/prompt`), signal ? { signal } : {});
  }

  /** How likely texts are as answers to a node. */
  scoreTokens(id: string, body: Record<string, unknown>): Promise<TokenScores> {
    return this.#json(this.#of(id, '/score'), { method: 'POST', body });
  }

  /** What could stand in the place of a token of a reply. */
  alternatives(id: string, body: Record<string, unknown>): Promise<{ token: SampledToken }> {
    return this.#json(this.#of(id, '/alternatives'), { method: 'POST', body });
  }

  /** What the replies cost on the path to a node, or all of them. */
  cost(id: string, node: string | null): Promise<Cost> {
    return this.#json(this.#of(id, node === null ? '/cost' : `/cost?node=${part(node)}`));
  }

  /** What the server says of itself and of its models. */
  about(): Promise<About> {
    return this.#json('v1/alloquy/page');
  }

  /** Moves the head, only if it is where it is expected to be. */
  moveHead(id: string, from: string | null, to: string | null): Promise<{ head: string | null }> {
    const headers = { 'if-match': `"${from ?? 'root'}"` };
    return this.#json(this.#of(id, '/head'), { method: 'PUT', headers, body: { head: to } });
  }

  prune(id: string, node: string, keepalive = false): Promise<unknown> {
    return this.#json(this.#of(id, '/prune'), { method: 'POST', body: { node }, keepalive });
  }

  fork(id: string, node: string): Promise<Conversation> {
    return this.#json(this.#of(id, '/fork'), { method: 'POST', body: { node } });
  }

  label(id: string, node: string, label: string): Promise<Notes> {
    const path = this.#of(id, `/labels/${part(node)}`);
    return label ? this.#json(path, { method: 'PUT', body: { label } }) : this.#json(path, { method: 'DELETE' });
  }

  bookmark(id: string, name: string, node: string): Promise<Notes> {
    return this.#json(this.#of(id, `/bookmarks/${part(name)}`), { method: 'PUT', body: { node } });
  }

  removeBookmark(id: string, name: string): Promise<Notes> {
    return this.#json(this.#of(id, `/bookmarks/${part(name)}`), { method: 'DELETE' });
  }

  export(id: string, format: string): Promise<Export> {
    return this.#json(this.#of(id, `/export?format=${part(format)}`));
  }

  /** Adds messages after a node without asking a model; `null` is before the first message. */
  add(id: string, node: string | null, messages: readonly unknown[], label?: string | null): Promise<AddedNodes> {
    const body = label ? { node: node ?? '', messages, label } : { node: node ?? '', messages };
    return this.#json(this.#of(id, '/nodes'), { method: 'POST', body });
  }

  diff(id: string, left: string, right: string, signal?: AbortSignal): Promise<Diff> {
    const query = new URLSearchParams({ left, right });
    return this.#json(this.#of(id, `/diff?${query.toString()}`), signal ? { signal } : {});
  }

  merge(id: string, from: string): Promise<Merge> {
    return this.#json(this.#of(id, '/merge'), { method: 'POST', body: { from } });
  }

  score(id: string, node: string | null, texts: readonly string[], model?: string): Promise<Scores> {
    const body = { node: node ?? '', texts, ...(model === undefined ? {} : { model }) };
    return this.#json(this.#of(id, '/score'), { method: 'POST', body });
  }

  import(document: string): Promise<Imported> {
    return this.#json('v1/alloquy/import', { method: 'POST', body: { document } });
  }

  /** The changes of a conversation, or of all. */
  events(id: string | null, last: string | null, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = last === null ? {} : { 'last-event-id': last };
    return this.#open(id === null ? 'v1/alloquy/events' : this.#of(id, '/events'), { headers, signal });
  }

  /** Starts a turn, and yields what happens in it. To stop it, abort: what was written by then is kept. */
  async *turn(id: string, turn: NewTurn, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    const body = { ...turn, stream: true };
    const response = await this.#open(this.#of(id, '/turns'), { method: 'POST', body, signal });
    if (!response.body) return;
    for await (const event of eventsOf(response.body)) {
      const read = turnEvent(event);
      if (read) yield read;
    }
  }
}

/** Reads an event of a turn; events that are new are skipped. */
export function turnEvent(event: ServerEvent): TurnEvent | null {
  const value: unknown = JSON.parse(event.data);
  switch (event.name) {
    case 'turn.started':
      return { kind: 'started', model: (value as { model: string }).model };
    case 'turn.text':
      return { kind: 'text', text: (value as { text: string }).text };
    case 'turn.thinking':
      return { kind: 'thinking', text: (value as { text: string }).text };
    case 'turn.channel':
      return { kind: 'channel', value };
    case 'turn.tool_call':
      return { kind: 'call', value };
    case 'turn.tool_result':
      return { kind: 'result', value };
    case 'turn.node':
      return { kind: 'node', node: value as Node };
    case 'turn.finished':
      return { kind: 'finished', turn: value as Turn };
    case 'error': {
      const { code, message } = sentence(500, event.data);
      throw new ApiError(500, code, message);
    }
    default:
      return null;
  }
}
