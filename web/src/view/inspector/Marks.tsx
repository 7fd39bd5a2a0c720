// Bookmarks and labels: where they are, and the way there.
import type { Node } from '../../api/types';
import { words } from '../../language';
import type { OpenConversation } from '../../state/open';
import { open, removeBookmark, setLabel } from '../../state/session';
import { summary } from '../../text/plain';
import { IconButton } from '../Button';
import { Icon, type IconName } from '../Icon';
import { writer } from '../roles';

interface Entry {
  name: string;
  node: Node;
  icon: IconName;
  remove: () => void;
}

function entriesOf(present: OpenConversation): { bookmarks: Entry[]; labels: Entry[] } {
  const bookmarks: Entry[] = [];
  const labels: Entry[] = [];
  for (const node of present.tree.nodes.values()) {
    for (const name of node.bookmarks) {
      bookmarks.push({ name, node, icon: 'bookmark', remove: () => void removeBookmark(name) });
    }
    if (node.label) {
      labels.push({ name: node.label, node, icon: 'label', remove: () => void setLabel(node.id, '') });
    }
  }
  const byName = (a: Entry, b: Entry) => a.name.localeCompare(b.name);
  return { bookmarks: bookmarks.sort(byName), labels: labels.sort(byName) };
}

function List({ title, entries, present }: { title: string; entries: readonly Entry[]; present: OpenConversation }) {
  if (entries.length === 0) return null;
  const text = words.value;
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {entries.map((entry) => (
          <li key={`${entry.name} ${entry.node.id}`} data-shown={present.focused.value === entry.node.id}>
            <button
              type="button"
              class="mark-go"
              aria-label={`${text.bookmarkGo(entry.name)}: ${writer(entry.node)}, ${summary(entry.node.text, 60)}`}
              onClick={() => present.goTo(entry.node.id)}
            >
              <Icon name={entry.icon} />
              <span class="mark-name">{entry.name}</span>
              <span class="quiet">{summary(entry.node.text, 60)}</span>
            </button>
            <IconButton icon="close" label={text.bookmarkRemove(entry.name)} onClick={entry.remove} />
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Marks() {
  const present = open.value;
  void present?.version.value;
  if (present?.state.value !== 'ready') return <p class="quiet padded">{words.value.bookmarksNone}</p>;
  const { bookmarks, labels } = entriesOf(present);
  if (bookmarks.length + labels.length === 0) return <p class="quiet padded">{words.value.bookmarksNone}</p>;
  return (
    <div class="marks">
      <List title={words.value.bookmarksTitle} entries={bookmarks} present={present} />
      <List title={words.value.labelsTitle} entries={labels} present={present} />
    </div>
  );
}
