// Calls of tools that wait for a person: allowed with a result, or refused with a reason.
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import type { Call } from '../../api/types';
import { around } from '../../language/around';
import { resultsOf, waitingCalls, type Decision } from '../../state/calls';
import type { OpenConversation } from '../../state/open';
import { send } from '../../state/session';
import { running, turnsAt } from '../../state/turns';
import { clean, plainName } from '../../text/plain';
import { PlainText } from '../Shown';

/** The calls of the last message of the line, unless a turn answers them. */
export function WaitingCalls({ conversation }: { conversation: OpenConversation }) {
  void running.value;
  void conversation.version.value;
  const node = conversation.tree.get(conversation.at.value);
  if (!node || turnsAt(conversation.id, node.id).some((turn) => turn.state.value !== 'failed')) return null;
  const calls = waitingCalls(conversation.tree, node);
  return calls.length === 0 ? null : <Decisions key={node.id} calls={calls} />;
}

function Decisions({ calls }: { calls: readonly Call[] }) {
  const text = around.value;
  const decisions = useSignal<readonly Decision[]>(calls.map(() => ({ isAllowed: true, text: '' })));
  const isSent = useSignal(false);
  const isComplete = decisions.value.every((decision) => !decision.isAllowed || decision.text.trim() !== '');
  const change = (index: number, next: Partial<Decision>) => {
    decisions.value = decisions.value.map((decision, at) => (at === index ? { ...decision, ...next } : decision));
  };
  const submit = async () => {
    if (!isComplete || isSent.value) return;
    isSent.value = true;
    isSent.value = await send('', { messages: resultsOf(calls, decisions.value) });
  };
  return (
    <form
      class="waiting-calls"
      aria-label={text.callsTitle(calls.length)}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <p>
        <strong>{text.callsTitle(calls.length)}</strong> <span class="quiet">{text.callsText}</span>
      </p>
      {calls.map((call, index) => (
        <OneCall
          key={call.id}
          call={call}
          decision={decisions.value[index] ?? { isAllowed: true, text: '' }}
          change={(next) => change(index, next)}
        />
      ))}
      <div class="form-foot">
        <button type="submit" class="button primary" disabled={!isComplete || isSent.value}>
          {text.callsSend}
        </button>
      </div>
    </form>
  );
}

interface CallProps {
  call: Call;
  decision: Decision;
  change: (next: Partial<Decision>) => void;
}

function OneCall({ call, decision, change }: CallProps) {
  const text = around.value;
  const id = useId();
  const label = decision.isAllowed ? text.callResult : text.callReason;
  return (
    <fieldset class="waiting-call">
      <legend>
        <code>{plainName(call.name)}</code>
      </legend>
      <PlainText text={clean(JSON.stringify(call.arguments, null, 2))} isCode />
      <div class="decision">
        {[true, false].map((isAllowed) => (
          <label key={`${isAllowed}`}>
            <input
              type="radio"
              name={`${id}-decision`}
              checked={decision.isAllowed === isAllowed}
              onChange={() => change({ isAllowed })}
            />
            {isAllowed ? text.callAllow : text.callRefuse}
          </label>
        ))}
      </div>
      <label class="field">
        {label}
        <textarea
          dir="auto"
          rows={2}
          value={decision.text}
          onInput={(event) => change({ text: event.currentTarget.value })}
        />
      </label>
    </fieldset>
  );
}
