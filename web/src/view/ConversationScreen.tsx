// The conversation: its title, its line, and where the next message is written.
import { words } from '../language';
import { open, title, toHead, toggle } from '../state/session';
import { settings } from '../state/settings';
import { isOnPath } from '../tree/path';
import { conversationItems } from './actions';
import { IconButton } from './Button';
import { Composer } from './Composer';
import { Line } from './Line';
import { Menu } from './Menu';
import { turnsAt, running } from '../state/turns';
import type { OpenConversation } from '../state/open';
import { laterWith } from './later';
import { flowOf } from '../flow/metadata';
import { waitingCalls } from '../state/calls';

const FlowInConversation = laterWith<{ conversation: OpenConversation }>(
  async () => (await import('./around/FlowAnswer')).FlowInConversation,
);
const WaitingCalls = laterWith<{ conversation: OpenConversation }>(
  async () => (await import('./around/WaitingCalls')).WaitingCalls,
);

/** What waits for a person: a flow, or calls of tools. */
function Waiting({ conversation }: { conversation: OpenConversation }) {
  const node = conversation.tree.get(conversation.at.value);
  const hasCalls = node !== undefined && waitingCalls(conversation.tree, node).length > 0;
  const hasFlow = flowOf(conversation.info.value) !== null;
  return (
    <>
      {hasCalls && <WaitingCalls conversation={conversation} />}
      {hasFlow && <FlowInConversation conversation={conversation} />}
    </>
  );
}

export function ConversationScreen() {
  const present = open.value;
  const info = present?.info.value;
  return (
    <section class="conversation" aria-label={words.value.conversation}>
      <header class="bar">
        {!settings.value.list && (
          <IconButton icon="list" label={words.value.showList} class="wide-only" onClick={() => toggle('list')} />
        )}
        <h1 id="screen-title" tabIndex={-1} dir="auto">
          {present ? title.value || words.value.untitled : words.value.newConversation}
        </h1>
        {info && <Menu label={words.value.conversationActions} items={() => conversationItems(info)} />}
        <IconButton
          icon="panel"
          label={words.value.showPanel}
          class="wide-only"
          pressed={settings.value.panel}
          onClick={() => toggle('panel')}
        />
      </header>
      {present ? <Shown key={present.id} conversation={present} /> : <Welcome />}
    </section>
  );
}

function Shown({ conversation }: { conversation: OpenConversation }) {
  const state = conversation.state.value;
  if (state === 'loading') {
    return (
      <div class="empty" aria-busy="true">
        <p class="quiet">{words.value.loading}</p>
      </div>
    );
  }
  if (state !== 'ready') {
    return (
      <div class="empty">
        <p>{state === 'missing' ? words.value.missing : conversation.error.value}</p>
        {state === 'failed' && (
          <button type="button" class="button" onClick={() => void conversation.open(null)}>
            {words.value.tryAgain}
          </button>
        )}
      </div>
    );
  }
  void conversation.version.value;
  void running.value;
  const isEmpty = conversation.tree.size === 0 && turnsAt(conversation.id, null).length === 0;
  return (
    <>
      {isEmpty ? <Empty /> : <Line conversation={conversation} />}
      <HeadElsewhere conversation={conversation} />
      <Waiting conversation={conversation} />
      <Composer />
    </>
  );
}

/** Says where the head is, if it is on another branch. */
function HeadElsewhere({ conversation }: { conversation: OpenConversation }) {
  const head = conversation.head.value;
  const at = conversation.at.value;
  const isHere = head === null || isOnPath(conversation.tree, head, at) || isOnPath(conversation.tree, at, head);
  if (isHere) return null;
  return (
    <p class="elsewhere">
      {words.value.headElsewhere}{' '}
      <button type="button" class="text-button" onClick={toHead}>
        {words.value.toHead}
      </button>
    </p>
  );
}

function Empty() {
  return (
    <div class="empty">
      <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
        <path d="M9 6v20M9 12c0 5 5 5 9 5s5 3 5 6" />
        <circle cx="9" cy="6" r="3" />
        <circle cx="9" cy="26" r="3" />
        <circle cx="23" cy="25" r="3" />
      </svg>
      <h2>{words.value.welcome}</h2>
      <p class="quiet">{words.value.welcomeText}</p>
    </div>
  );
}

function Welcome() {
  return (
    <>
      <Empty />
      <Composer />
    </>
  );
}
