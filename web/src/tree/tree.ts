// A conversation as a tree of nodes, kept up to date by the events of the server.
import type { Node } from '../api/types';

export class Tree {
  readonly nodes = new Map<string, Node>();
  readonly #children = new Map<string | null, string[]>();
  head: string | null = null;
  /** Grows when nodes are replaced, removed or put back, but not when one is added that no other follows. */
  changes = 0;

  static of(nodes: readonly Node[], head: string | null): Tree {
    const tree = new Tree();
    for (const node of nodes) tree.put(node);
    tree.head = head;
    return tree;
  }

  get size(): number {
    return this.nodes.size;
  }

  get(id: string | null): Node | undefined {
    return id === null ? undefined : this.nodes.get(id);
  }

  /** The nodes that follow a node, or the first messages, in the order of their creation. */
  children(id: string | null): readonly string[] {
    return this.#children.get(id) ?? [];
  }

  /** Adds a node, or replaces it. Its labels and bookmarks are kept if the new object cannot know them. */
  put(node: Node): void {
    const known = this.nodes.get(node.id);
    if (known) {
      const notes = {
        label: node.label ?? known.label,
        bookmarks: node.bookmarks.length ? node.bookmarks : known.bookmarks,
      };
      const replaced = { ...node, ...notes };
      // The window that has sent a turn gets its nodes twice: in the answer and as events.
      if (JSON.stringify(replaced) === JSON.stringify(known)) return;
      this.nodes.set(node.id, replaced);
      this.changes += 1;
      return;
    }
    this.nodes.set(node.id, node);
    if (this.#children.has(node.id)) this.changes += 1;
    const siblings = this.#children.get(node.parent);
    if (!siblings) {
      this.#children.set(node.parent, [node.id]);
      return;
    }
    // Ids grow with time: every window has the same order, whichever event came first.
    let at = siblings.length;
    while (at > 0 && (siblings[at - 1] ?? '') > node.id) at -= 1;
    siblings.splice(at, 0, node.id);
  }

  /** Removes nodes. The others that followed them are not reachable any more, until the nodes are put back. */
  remove(ids: readonly string[]): void {
    this.changes += 1;
    for (const id of ids) {
      const node = this.nodes.get(id);
      if (!node) continue;
      this.nodes.delete(id);
      const siblings = this.#children.get(node.parent);
      const at = siblings?.indexOf(id) ?? -1;
      if (siblings && at >= 0) siblings.splice(at, 1);
    }
    for (const id of ids) if (this.#children.get(id)?.length === 0) this.#children.delete(id);
    if (this.head !== null && !this.nodes.has(this.head)) this.head = null;
  }

  /** Sets all labels and bookmarks. */
  note(labels: Record<string, string>, bookmarks: Record<string, string>): void {
    const names = new Map<string, string[]>();
    for (const [name, id] of Object.entries(bookmarks)) names.set(id, [...(names.get(id) ?? []), name]);
    for (const [id, node] of this.nodes) {
      const label = labels[id] ?? null;
      const marks = names.get(id) ?? [];
      const isSame = node.label === label && node.bookmarks.join('\0') === marks.join('\0');
      if (isSame) continue;
      this.nodes.set(id, { ...node, label, bookmarks: marks });
      this.changes += 1;
    }
  }

  /** A node with all that follow it. */
  below(id: string): string[] {
    const found = [id];
    for (let at = 0; at < found.length; at += 1) found.push(...this.children(found[at] ?? null));
    return found;
  }
}
