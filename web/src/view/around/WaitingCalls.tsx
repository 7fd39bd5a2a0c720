// Calls of tools that wait for a person. Those of the host are allowed or refused, and the server runs them; for others, the result
// is given.
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import type { Call, WaitingCall } from '../../api/types';
import { around } from '../../language/around';
import { waitingCalls } from '../../state/calls';
import { answerOf, waitingApprovals, type Decision } from '../../state/decisions';
import type { OpenConversation } from '../../state/open';
import { send } from '../../state/session';
import { namedTools, usedTools } from '../../state/tools';
import { running, turnsAt } from '../../state/turns';
import { clean, plainName } from '../../text/plain';
import { PlainText } from '../Shown';

/** The calls at the end of the line, unless a turn answers them. */
export function WaitingCalls({ conversation }: { conversation: OpenConversation }) {
  void running.value;
  void conversation.version.value;
  const { tree } = conversation;
  const node = tree.get(conversation.at.value);
  if (!node || turnsAt(conversation.id, node.id).some((turn) => turn.state.value !== 'failed')) return null;
  const calls = waitingCalls(tree, node);
  if (calls.length === 0) return null;
  const approvals = waitingApprovals(tree, node, conversation.info.value);
  return <Decisions key={node.id} calls={calls} approvals={approvals} conversation={conversation} />;
}

interface DecisionsProps {
  calls: readonly Call[];
  approvals: readonly WaitingCall[];
  conversation: OpenConversation;
}

function Decisions({ calls, approvals, conversation }: DecisionsProps) {
  const text = around.value;
  const labelOf = (call: Call) => approvals.find((waiting) => waiting.call_id === call.id)?.server_label ?? null;
  // What runs at the server is decided by a person, and nothing is chosen before.
  const decisions = useSignal<readonly Decision[]>(
    calls.map((call) => ({ isAllowed: labelOf(call) === null ? true : null, text: '' })),
  );
  const isSent = useSignal(false);
  const isDecided = ({ isAllowed, text: given }: Decision, index: number) => {
    const call = calls[index];
    if (isAllowed !== true || !call) return isAllowed === false;
    return labelOf(call) !== null || given.trim() !== '';
  };
  const isComplete = decisions.value.every(isDecided);
  const change = (index: number, next: Partial<Decision>) => {
    decisions.value = decisions.value.map((decision, at) => (at === index ? { ...decision, ...next } : decision));
  };
  const submit = async () => {
    if (!isComplete || isSent.value) return;
    isSent.value = true;
    const used = usedTools(conversation.info.value);
    for (const waiting of approvals) used[waiting.server_label] ??= 'always';
    const tools = namedTools(used);
    isSent.value = await send('', {
      ...answerOf(calls, approvals, decisions.value),
      ...(tools.length > 0 && { tools }),
    });
  };
  const isOfClient = calls.some((call) => labelOf(call) === null);
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
        <strong>{text.callsTitle(calls.length)}</strong>{' '}
        <span class="quiet">{isOfClient ? text.callsText : text.approvalsText}</span>
      </p>
      {calls.map((call, index) => (
        <OneCall
          key={call.id}
          call={call}
          label={labelOf(call)}
          decision={decisions.value[index] ?? { isAllowed: null, text: '' }}
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
  /** The label of the host's tools; `null` for a tool whose result is given here. */
  label: string | null;
  decision: Decision;
  change: (next: Partial<Decision>) => void;
}

function OneCall({ call, label, decision, change }: CallProps) {
  const text = around.value;
  const id = useId();
  const isField = decision.isAllowed === false || label === null;
  return (
    <fieldset class="waiting-call">
      <legend>
        <code>{plainName(call.name)}</code>
        {label !== null && <span class="quiet"> {text.callOf(plainName(label))}</span>}
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
      {isField && (
        <label class="field">
          {decision.isAllowed === false ? text.callReason : text.callResult}
          <textarea
            dir="auto"
            rows={2}
            value={decision.text}
            onInput={(event) => change({ text: event.currentTarget.value })}
          />
        </label>
      )}
    </fieldset>
  );
}
