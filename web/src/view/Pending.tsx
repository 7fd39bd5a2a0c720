// A turn that runs: what was sent, and what is written so far.
import { words } from '../language';
import { again } from '../state/session';
import { drop, stop, type RunningTurn } from '../state/turns';
import { Icon } from './Icon';
import { Folded } from './Message';
import { shortModel } from './roles';
import { Text } from './Text';
import { plainName } from '../text/plain';

export function Pending({ turn }: { turn: RunningTurn }) {
  return (
    <>
      {turn.asked.value !== null && !isResult(turn) && (
        <article class="message user pending" aria-label={words.value.you}>
          <header class="message-head">
            <span class="writer">{words.value.you}</span>
          </header>
          <div class="message-body">
            {turn.asked.value !== '' && <Text text={turn.asked.value} />}
            <AskedMedia turn={turn} />
          </div>
        </article>
      )}
      <Written turn={turn} />
    </>
  );
}

/** Whether the results of tools are sent, which a person did not write as a message. */
function isResult(turn: RunningTurn): boolean {
  return turn.request.messages?.every((message) => message['role'] === 'tool') ?? false;
}

/** Names the images and audio that are sent. */
function AskedMedia({ turn }: { turn: RunningTurn }) {
  const content = turn.request.messages?.[0]?.['content'];
  if (!Array.isArray(content)) return null;
  const types = content.map((part: unknown) => (part as { type?: unknown }).type);
  const kinds = types.filter((type) => type !== 'text').map((type) => (type === 'image_url' ? 'image' : 'audio'));
  return (
    <>
      {kinds.map((kind, index) => (
        <p key={index} class="media">
          {words.value.media(kind)}
        </p>
      ))}
    </>
  );
}

function Written({ turn }: { turn: RunningTurn }) {
  void turn.version.value;
  const present = words.value;
  const state = turn.state.value;
  const isFailed = state === 'failed';
  return (
    <article class="message assistant pending" data-state={state} aria-label={present.writing} aria-busy={!isFailed}>
      <header class="message-head">
        <span class="writer">{turn.model.value ? shortModel(turn.model.value) : present.model}</span>
        {!isFailed && <span class="quiet">{state === 'stopping' ? present.stopping : ''}</span>}
      </header>
      <div class="message-body">
        {turn.thinking !== '' && <Folded title={present.thinking} text={turn.thinking} isOpen={turn.text === ''} />}
        {turn.text !== '' && <Text text={turn.text} isGrowing />}
        {turn.text === '' && turn.thinking === '' && !isFailed && (
          <p class="waiting">
            <span class="pulse" aria-hidden="true" />
            {present.waiting}
          </p>
        )}
        {turn.calls.value.map((call, index) => (
          <Folded key={index} title={present.toolCall('')} text={JSON.stringify(call, null, 2)} isCode />
        ))}
        {isFailed && (
          <div class="failure" role="alert">
            <p>
              <strong>{present.failed}</strong> {plainName(turn.error.value ?? '')}
            </p>
            <button type="button" class="button" onClick={() => again(turn)}>
              {present.tryAgain}
            </button>
            <button type="button" class="button" onClick={() => drop(turn)}>
              {present.dismiss}
            </button>
          </div>
        )}
      </div>
      {!isFailed && (
        <footer class="message-foot shown">
          <button type="button" class="button small" disabled={state === 'stopping'} onClick={() => stop(turn)}>
            <Icon name="stop" />
            {present.stop}
          </button>
        </footer>
      )}
    </article>
  );
}
