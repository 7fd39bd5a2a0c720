// A conversation that is open in a window, while another window changes it.
import { describe, expect, it, vi } from 'vitest';
import { ApiError, type Client } from '../src/api/client';
import type { Node, Notes } from '../src/api/types';
import { OpenConversation } from '../src/state/open';
import { node } from './nodes';

/** A server with a tree, whose events are sent when a test says so. */
class Fake {
  nodes: Node[] = [];
  head: string | null = null;
  revision = 0;
  /** What the tree waits for before it is sent, as it was when it was requested. */
  slow: Promise<void> | null = null;
  #send: ((text: string) => void) | null = null;

  client(): Client {
    const tree = async () => {
      const answer = { id: 'c', head: this.head, nodes: [...this.nodes], bookmarks: {} };
      await this.slow;
      return answer;
    };
    const events = () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          this.#send = (text) => controller.enqueue(new TextEncoder().encode(text));
        },
      });
      return Promise.resolve(new Response(body));
    };
    const conversation = () => Promise.resolve({ id: 'c', revision: this.revision, metadata: {} });
    const moveHead = (_: string, __: string | null, to: string | null) => {
      this.head = to;
      return Promise.resolve({ head: to });
    };
    return { tree, events, conversation, moveHead } as unknown as Client;
  }

  async event(name: string, data: unknown): Promise<void> {
    await vi.waitFor(() => expect(this.#send).not.toBeNull());
    this.#send?.(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  async added(added: Node): Promise<void> {
    this.nodes.push(added);
    await this.event('node.added', added);
  }

  async pruned(ids: readonly string[]): Promise<void> {
    this.nodes = this.nodes.filter((entry) => !ids.includes(entry.id));
    await this.event('nodes.pruned', { nodes: ids });
  }

  /** Says what its state is, so that a window that has another one loads it again. */
  async reset(): Promise<void> {
    await this.event('reset', {});
  }
}

async function opened(...nodes: Node[]): Promise<{ fake: Fake; present: OpenConversation }> {
  const fake = new Fake();
  fake.nodes = nodes;
  fake.head = nodes.at(-1)?.id ?? null;
  const present = new OpenConversation(fake.client(), 'c', () => undefined);
  await present.open(null);
  return { fake, present };
}

/** The nodes that are reached from the first messages, as the outline shows them. */
function reached(present: OpenConversation): string[] {
  const found: string[] = [];
  const waiting: string[] = [...present.tree.children(null)];
  for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
    found.push(id);
    waiting.push(...present.tree.children(id));
  }
  return found;
}

const question = node('1', null);
const reply = node('2', '1', { role: 'assistant' });
const more = node('3', '2');
const note = (labels: Record<string, string>, revision = 1) => ({ revision, metadata: {}, labels, bookmarks: {} });

describe('a branch that is about to be removed', () => {
  it('comes back with what was added below it, even after everything was loaded again', async () => {
    const { fake, present } = await opened(question, reply);
    present.hide(['2']);
    expect(reached(present)).toEqual(['1']);
    await fake.added(more);
    expect(reached(present)).toEqual(['1']);
    await fake.reset();
    expect(reached(present)).toEqual(['1']);
    present.unhide(['2']);
    expect(reached(present)).toEqual(['1', '2', '3']);
    present.close();
  });

  it('does not come back when another window has removed it', async () => {
    const { fake, present } = await opened(question, reply);
    present.hide(['2']);
    await fake.pruned(['2']);
    present.unhide(['2']);
    expect(reached(present)).toEqual(['1']);
    present.close();
  });

  it('does not come back when another window has removed it while nothing was heard', async () => {
    const { fake, present } = await opened(question, reply);
    present.hide(['2']);
    fake.nodes = [question];
    await fake.reset();
    present.unhide(['2']);
    expect(reached(present)).toEqual(['1']);
    present.close();
  });

  it('comes back with the labels that it has now', async () => {
    const { fake, present } = await opened(question, node('2', '1', { label: 'old' }));
    present.hide(['2']);
    await fake.event('metadata.changed', note({ '2': 'new' }));
    present.unhide(['2']);
    expect(present.tree.get('2')?.label).toBe('new');
    present.close();
  });

  it('is not loaded again for being hidden', async () => {
    const { fake, present } = await opened(question, reply);
    const before = present.tree;
    present.hide(['2']);
    await fake.event('state', { head: '2', nodes: 2, revision: 0 });
    expect(present.tree).toBe(before);
    await fake.event('state', { head: '2', nodes: 3, revision: 0 });
    expect(present.tree).not.toBe(before);
    present.close();
  });
});

describe('a tree that is loaded', () => {
  it('has what was added, and not what was removed, while it was on its way', async () => {
    const { fake, present } = await opened(question, reply);
    let arrive: () => void = () => undefined;
    fake.slow = new Promise((resolve) => (arrive = resolve));
    const loading = present.load();
    await fake.added(more);
    await fake.pruned(['2', '3']);
    await fake.added(node('4', '1'));
    await fake.event('metadata.changed', note({ '1': 'first' }));
    arrive();
    await loading;
    expect(reached(present)).toEqual(['1', '4']);
    expect(present.tree.get('1')?.label).toBe('first');
    present.close();
  });
});

describe('labels', () => {
  const answer = (labels: Record<string, string>): Promise<Notes> => Promise.resolve({ labels, bookmarks: {} });

  it('are shown as the answer says', async () => {
    const { present } = await opened(question);
    await present.note(() => answer({ '1': 'mine' }));
    expect(present.tree.get('1')?.label).toBe('mine');
    present.close();
  });

  it('are not set back by an answer that is older than an event', async () => {
    const { fake, present } = await opened(question);
    await present.note(async () => {
      await fake.event('metadata.changed', note({ '1': 'theirs' }, 2));
      return answer({ '1': 'mine' });
    });
    expect(present.tree.get('1')?.label).toBe('theirs');
    present.close();
  });

  it('stay when the change is refused', async () => {
    const { present } = await opened(node('1', null, { label: 'old' }));
    await expect(present.note(() => Promise.reject(new ApiError(409, 'x', 'no')))).rejects.toThrow('no');
    expect(present.tree.get('1')?.label).toBe('old');
    present.close();
  });
});
