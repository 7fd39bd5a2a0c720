// The conversation that is shown: its tree, and which of its lines is seen in this window.
import { computed, signal } from '@preact/signals';
import { ApiError, type Client } from '../api/client';
import { follow, type ServerEvent } from '../api/events';
import type { Conversation, Metadata, Node, Notes } from '../api/types';
import { isOnPath, leafBelow, PathLine, remember, type Remembered } from '../tree/path';
import { Tree } from '../tree/tree';
import { moveDraft } from './drafts';

/** How long a window waits before it moves the head to the line that is shown, so that looking around moves it once. */
const SETTLED = 400;

export type OpenState = 'loading' | 'ready' | 'missing' | 'failed';

export class OpenConversation {
  readonly state = signal<OpenState>('loading');
  readonly error = signal<string | null>(null);
  readonly info = signal<Conversation | null>(null);
  /** Grows whenever the tree changes. */
  readonly version = signal(0);
  /** The last node of the line that is shown; the next message follows it. */
  readonly at = signal<string | null>(null);
  /** The message that has the focus, for commands. */
  readonly focused = signal<string | null>(null);
  /** Where the line is to be scrolled to. */
  readonly sought = signal<{ id: string } | null>(null);
  readonly head = signal<string | null>(null);
  readonly isConnected = signal(false);
  readonly folded = signal<ReadonlySet<string>>(new Set());
  readonly remembered: Remembered = new Map();
  /** Nodes that are about to be pruned: they are shown no more. */
  readonly #hidden = new Map<string, Node>();
  /** The labels and bookmarks that were reported last: nodes that are hidden get them when they are shown again. */
  #notes: Notes | null = null;
  /** How many events have reported labels and bookmarks. */
  #events = 0;
  tree = new Tree();
  /** Called for each node that another connection announces. */
  onNode: (node: Node) => void = () => undefined;
  /** What has changed since the tree was last requested: the answer may not know it. */
  #added: Node[] = [];
  #gone = new Set<string>();
  readonly #end = new AbortController();
  #moving = Promise.resolve();
  #settling: ReturnType<typeof setTimeout> | undefined;

  readonly #line = new PathLine();
  readonly line = computed(() => {
    void this.version.value;
    return this.#line.to(this.tree, this.at.value);
  });

  constructor(
    readonly client: Client,
    readonly id: string,
    readonly onConflict: () => void,
  ) {}

  /** Loads the tree, shows the line through `node`, or else to where `usual` says, and follows the changes. */
  async open(node: string | null, usual: () => string | null = () => null): Promise<void> {
    try {
      await this.load();
    } catch (error) {
      const isMissing = error instanceof ApiError && error.status === 404;
      this.state.value = isMissing ? 'missing' : 'failed';
      this.error.value = error instanceof Error ? error.message : String(error);
      return;
    }
    if (this.#end.signal.aborted) return;
    remember(this.tree, this.remembered, this.tree.head);
    const known = node !== null && this.tree.get(node) ? node : null;
    const running = usual();
    // A turn of this window may have stored nodes meanwhile.
    if (known !== null) this.at.value = leafBelow(this.tree, known, this.remembered);
    else if (running !== null && this.tree.get(running)) this.at.value = running;
    else if (this.at.value === null || !this.tree.get(this.at.value)) this.at.value = this.tree.head;
    remember(this.tree, this.remembered, this.at.value);
    this.focused.value = known ?? this.at.value;
    if (known !== null) this.sought.value = { id: known };
    this.state.value = 'ready';
    void this.#follow();
  }

  close(): void {
    this.#end.abort();
    clearTimeout(this.#settling);
  }

  /** Reads everything. */
  async load(): Promise<void> {
    this.#added = [];
    this.#gone = new Set();
    this.#notes = null;
    const [info, tree] = await Promise.all([this.client.conversation(this.id), this.client.tree(this.id)]);
    this.info.value = info;
    const nodes = tree.nodes.filter((node) => !this.#gone.has(node.id));
    this.tree = Tree.of(nodes, tree.head);
    for (const node of this.#added) this.tree.put(node);
    this.#added = [];
    this.#note(this.#notes);
    // What another one has pruned is not hidden any more: it is gone.
    for (const id of [...this.#hidden.keys()]) {
      const node = this.tree.get(id);
      if (node) this.#hidden.set(id, node);
      else this.#hidden.delete(id);
    }
    this.#withoutHidden([...this.#hidden.keys()]);
    this.#changed();
  }

  #changed(): void {
    this.head.value = this.tree.head;
    this.version.value += 1;
  }

  #follow(): Promise<void> {
    return follow({
      open: (last, signal) => this.client.events(this.id, last, signal),
      event: (event) => this.#event(event),
      connected: (is) => {
        this.isConnected.value = is;
      },
      isFinal: (error) => error instanceof ApiError && (error.status === 404 || error.status === 401),
      signal: this.#end.signal,
    });
  }

  #event(event: ServerEvent): void {
    const data: unknown = JSON.parse(event.data);
    switch (event.name) {
      case 'state': {
        const state = data as { head: string | null; nodes: number; revision: number };
        const size = this.tree.size + this.#hidden.size;
        const isSame = state.nodes === size && state.revision === this.info.value?.revision;
        if (!isSame) void this.#reload();
        else this.#moved(state.head);
        break;
      }
      case 'reset':
        void this.#reload();
        break;
      case 'node.added':
        this.put(data as Node);
        this.onNode(data as Node);
        break;
      case 'nodes.pruned':
        this.#pruned((data as { nodes: string[] }).nodes);
        break;
      case 'head.moved':
        this.#moved((data as { head: string | null }).head);
        break;
      case 'metadata.changed':
        this.#noted(data as Metadata);
        break;
      case 'conversation.deleted':
        this.state.value = 'missing';
        this.close();
        break;
    }
  }

  async #reload(): Promise<void> {
    try {
      await this.load();
    } catch {
      // The connection is lost again: the next one reports its state first.
      return;
    }
    if (this.at.value !== null && !this.tree.get(this.at.value)) this.#leave(this.tree.head);
  }

  put(node: Node): void {
    if (this.#hidden.has(node.id)) {
      this.#hidden.set(node.id, node);
      return;
    }
    this.#added.push(node);
    this.tree.put(node);
    this.#changed();
  }

  #pruned(ids: readonly string[]): void {
    const gone = new Set(ids);
    for (const id of ids) {
      this.#gone.add(id);
      this.#hidden.delete(id);
    }
    this.#added = this.#added.filter((node) => !gone.has(node.id));
    let at = this.at.value;
    while (at !== null && gone.has(at)) at = this.tree.get(at)?.parent ?? null;
    this.tree.remove(ids);
    this.#changed();
    if (at !== this.at.value) this.#leave(leafBelow(this.tree, at, this.remembered));
  }

  /** The head has moved. The line that is shown stays, unless what follows it now was added to it. */
  #moved(head: string | null): void {
    const before = this.tree.head;
    this.tree.head = head;
    this.#changed();
    const isLater = head !== null && head !== before && isOnPath(this.tree, before, head);
    if (isLater && this.at.value === before) this.#advance(head);
  }

  /** Shows what was added after the line that is shown. A text that is being written moves along. */
  #advance(id: string): void {
    const before = this.at.value;
    moveDraft(this.id, before, id);
    this.at.value = id;
    remember(this.tree, this.remembered, id, before);
  }

  /** Shows another line because the end of the present one is gone. A text that is being written moves along. */
  #leave(id: string | null): void {
    moveDraft(this.id, this.at.value, id);
    this.show(id, false);
  }

  #noted(metadata: Metadata): void {
    this.#events += 1;
    this.#note(metadata);
    const info = this.info.value;
    if (info) this.info.value = { ...info, metadata: metadata.metadata, revision: metadata.revision };
    this.#changed();
  }

  /**
   * Changes labels and bookmarks, and shows them as the last answer says; not if an event came meanwhile. Events come in order, and
   * the answer may be older than the last one.
   */
  async note(change: () => Promise<Notes>): Promise<void> {
    const before = this.#events;
    const notes = await change();
    if (this.#events !== before) return;
    this.#note(notes);
    this.#changed();
  }

  #note(notes: Notes | null): void {
    this.#notes = notes;
    if (notes) this.tree.note(notes.labels, notes.bookmarks);
  }

  /** A node that a turn of this window has stored. The line advances to it if it ended where the turn was. */
  stored(node: Node): void {
    this.put(node);
    if (this.at.value !== node.parent) return;
    this.at.value = node.id;
    this.focused.value = node.id;
    remember(this.tree, this.remembered, node.id, node.parent);
  }

  /** Shows the line that ends at a node, and moves the head there unless `isSettled` is false. */
  show(id: string | null, isSettled = true): void {
    this.at.value = id;
    remember(this.tree, this.remembered, id);
    if (isSettled) this.#settle();
  }

  /** Shows the line through a node, down to where it was left, and scrolls to the node. */
  goTo(id: string): void {
    const isShown = isOnPath(this.tree, id, this.at.value);
    if (!isShown) this.show(leafBelow(this.tree, id, this.remembered));
    this.focused.value = id;
    this.sought.value = { id };
  }

  /** Moves the head to the line that is shown, once it stays there. */
  #settle(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      void this.moveHead();
    }, SETTLED);
  }

  /** Moves the head to the line that is shown, unless it was moved elsewhere meanwhile. One move waits for the other. */
  moveHead(): Promise<void> {
    this.#moving = this.#moving.then(() => this.#moveHead());
    return this.#moving;
  }

  async #moveHead(): Promise<void> {
    const to = this.at.value;
    if (to === this.tree.head || (to !== null && !this.tree.get(to))) return;
    try {
      const moved = await this.client.moveHead(this.id, this.tree.head, to);
      this.tree.head = moved.head;
      this.#changed();
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) this.onConflict();
      // Another error is seen at the next request: nothing was changed.
    }
  }

  /** Shows nodes no more, until [`unhide`]. */
  hide(ids: readonly string[]): void {
    for (const id of ids) {
      const node = this.tree.get(id);
      if (node) this.#hidden.set(id, node);
    }
    this.#withoutHidden(ids);
    this.#changed();
  }

  /** Takes hidden nodes out of the tree. The head may be one of them: it is still where it is. */
  #withoutHidden(ids: readonly string[]): void {
    const head = this.tree.head;
    this.tree.remove(ids);
    this.tree.head = head;
  }

  /** Shows hidden nodes again, but for those that are gone meanwhile. */
  unhide(ids: readonly string[]): void {
    for (const id of ids) {
      const node = this.#hidden.get(id);
      this.#hidden.delete(id);
      if (node) this.tree.put(node);
    }
    this.#note(this.#notes);
    this.#changed();
  }

  fold(id: string, isFolded: boolean): void {
    const folded = new Set(this.folded.value);
    if (isFolded) folded.add(id);
    else folded.delete(id);
    this.folded.value = folded;
  }
}
