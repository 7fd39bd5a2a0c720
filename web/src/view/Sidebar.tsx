// The list of conversations, and the search in all messages.
import { useSignalEffect } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { Conversation, Hit } from '../api/types';
import { when, words } from '../language';
import { client } from '../state/connection';
import {
  conversations,
  hasMore,
  hits,
  leaving,
  listState,
  loadMore,
  searchError,
  searched,
  titleOf,
} from '../state/list';
import { open, wantsFocus } from '../state/session';
import { visit, writeRoute } from '../state/route';
import { plainName } from '../text/plain';
import { conversationItems } from './actions';
import { IconButton } from './Button';
import { Icon } from './Icon';
import { highlighted } from './highlight';
import { Menu } from './Menu';
import { overlay } from './overlays';
import { Places } from './Places';
import { roleName } from './roles';
import { VirtualList } from './VirtualList';

/** The heights of entries in pixels, which style/sidebar.css has too. */
const ENTRY = 52;
const HIT = 66;

export function Sidebar() {
  const present = words.value;
  return (
    <nav class="sidebar" aria-label={present.conversations}>
      <header class="bar">
        <a class="brand" href="#/">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <path d="M9 6v20M9 12c0 5 5 5 9 5s5 3 5 6" />
            <circle cx="9" cy="6" r="3" />
            <circle cx="9" cy="26" r="3" />
            <circle cx="23" cy="25" r="3" />
          </svg>
          {present.product}
        </a>
        <IconButton icon="plus" label={present.newConversation} onClick={() => visit({})} />
      </header>
      <Search />
      {hits.value === null ? <Entries /> : <Hits found={hits.value} />}
      <footer class="sidebar-foot">
        <Places />
        <IconButton
          icon="settings"
          label={present.settings}
          onClick={() => {
            overlay.value = 'settings';
          }}
        />
        <IconButton
          icon="help"
          label={present.help}
          onClick={() => {
            overlay.value = 'help';
          }}
        />
      </footer>
    </nav>
  );
}

function Search() {
  const input = useRef<HTMLInputElement>(null);
  useSignalEffect(() => {
    if (wantsFocus.value?.part !== 'search') return;
    wantsFocus.value = null;
    // A phone shows the list first.
    requestAnimationFrame(() => {
      if (document.activeElement === input.current) return;
      input.current?.focus();
      input.current?.select();
    });
  });
  return (
    <search class="search">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        placeholder={words.value.search}
        aria-label={words.value.search}
        value={searched.value}
        onInput={(event) => {
          searched.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            searched.value = '';
            event.currentTarget.blur();
          }
        }}
      />
    </search>
  );
}

function Entries() {
  const hidden = leaving.value;
  const items = conversations.value.filter((conversation) => !hidden.has(conversation.id));
  if (items.length === 0) {
    return (
      <div class="list-empty quiet">
        {listState.value === 'failed'
          ? words.value.listFailed
          : listState.value === 'ready'
            ? words.value.listEmpty
            : ''}
        {listState.value === 'failed' && (
          <button type="button" class="button" onClick={() => void loadMore(client, true)}>
            {words.value.tryAgain}
          </button>
        )}
      </div>
    );
  }
  return (
    <VirtualList
      class="entries"
      role="list"
      label={words.value.conversations}
      items={items}
      keyOf={(conversation) => conversation.id}
      estimate={() => ENTRY}
      isUniform
      onNearEnd={() => {
        if (hasMore.value) void loadMore(client);
      }}
      render={(conversation) => <Entry conversation={conversation} />}
    />
  );
}

function Entry({ conversation }: { conversation: Conversation }) {
  const isOpen = open.value?.id === conversation.id;
  const name = titleOf(conversation);
  return (
    <div class="entry" role="listitem" data-open={isOpen}>
      <a
        href={writeRoute({ screen: 'conversation', conversation: conversation.id, node: null })}
        aria-current={isOpen ? 'page' : undefined}
      >
        <span class="entry-title" dir="auto">
          {name ? name : words.value.untitled}
        </span>
        <span class="entry-facts">
          {when(conversation.updated_at)} · {words.value.nodes(conversation.nodes)}
        </span>
      </a>
      <Menu
        label={`${words.value.conversationActions}: ${name || words.value.untitled}`}
        items={() => conversationItems(conversation)}
      />
    </div>
  );
}

function Hits({ found }: { found: readonly Hit[] }) {
  if (found.length === 0) {
    return <p class="list-empty quiet">{searchError.value ?? words.value.searchEmpty}</p>;
  }
  return (
    <VirtualList
      class="entries"
      role="list"
      label={words.value.search}
      items={found}
      keyOf={(hit) => `${hit.conversation}/${hit.node}`}
      estimate={() => HIT}
      isUniform
      render={(hit) => <HitEntry hit={hit} />}
    />
  );
}

function HitEntry({ hit }: { hit: Hit }) {
  const conversation = conversations.value.find((entry) => entry.id === hit.conversation);
  const name = conversation ? titleOf(conversation) : '';
  return (
    <div class="entry hit" role="listitem">
      <a href={writeRoute({ screen: 'conversation', conversation: hit.conversation, node: hit.node })}>
        <span class="entry-facts">
          {roleName(hit.role)} · {name ? name : words.value.untitled}
        </span>
        <span class="snippet" dir="auto">
          {highlighted(hit.snippet.text, hit.snippet.highlights).map((piece, index) =>
            piece.isHit ? <mark key={index}>{plainName(piece.text)}</mark> : plainName(piece.text),
          )}
        </span>
      </a>
    </div>
  );
}
