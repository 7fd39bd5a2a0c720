// What a flow waits for, and the answer to it: a text, a form of what is expected, or a decision.
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Flow, FlowAnswer, FlowRun, Wait } from '../../api/around';
import { fieldOf, fieldsOf, filled } from '../../form/fields';
import { flowOf } from '../../flow/metadata';
import { fullTime } from '../../language';
import { around } from '../../language/around';
import { answer, flows, isRunning, loadFlows, readError, readRun, run, runError } from '../../state/flows';
import type { OpenConversation } from '../../state/open';
import { writeRoute } from '../../state/route';
import { clean, plainName } from '../../text/plain';
import { shown } from '../Shown';
import { Fields } from './Fields';

/** Why a run is where it is, as a sentence. */
export function Progress({ of }: { of: FlowRun }) {
  const text = around.value;
  const why = of.progress?.['progress'];
  if (isRunning.value) return <p class="quiet">{text.working}</p>;
  if (of.waits.length > 0) return null;
  if (why === 'ended') return <p>{text.ended}</p>;
  if (typeof why === 'string' && why !== 'waiting') return <p class="field-problem">{text.stopped(why)}</p>;
  return <p class="quiet">{text.waitsNothing}</p>;
}

/**
 * The forms of all that a run waits for. After an answer, the next form has the focus; until then the button of the
 * answer keeps it, so it is not `disabled`.
 */
export function Waits({ flow, of, heading = 'h3' }: { flow: Flow; of: FlowRun; heading?: 'h2' | 'h3' }) {
  const forms = useRef<HTMLDivElement>(null);
  const isGiven = useRef(false);
  useLayoutEffect(() => {
    if (!isGiven.current) return;
    isGiven.current = false;
    // The form that had the focus is gone. Where people went elsewhere, the focus stays there.
    if (document.activeElement !== document.body) return;
    forms.current?.querySelector<HTMLElement>('input, textarea, select, button')?.focus();
  }, [of.step]);
  const give = async (given: FlowAnswer) => {
    if (isRunning.value) return;
    isGiven.current = true;
    const isTaken = await answer(flow, of.id, given);
    if (!isTaken) isGiven.current = false;
  };
  const problem = runError.value ?? readError.value;
  return (
    <div class="waits" ref={forms}>
      {of.waits.map((wait) => (
        <WaitForm
          key={`${wait.flow}/${wait.state}/${wait.branch ?? ''}/${of.step}`}
          of={of}
          wait={wait}
          heading={heading}
          give={(given) => void give(given)}
        />
      ))}
      {problem !== null && (
        <p class="field-problem" role="alert">
          {plainName(problem)}
        </p>
      )}
    </div>
  );
}

interface WaitProps {
  of: FlowRun;
  wait: Wait;
  heading: 'h2' | 'h3';
  give: (given: FlowAnswer) => void;
}

function WaitForm({ of, wait, heading: Heading, give }: WaitProps) {
  const text = around.value;
  const place =
    of.waits.length > 1 ? { state: wait.state, ...(wait.branch === null ? {} : { branch: wait.branch }) } : {};
  const giveValue = (value: unknown, by: string) =>
    give({ answer: value, ...(by.trim() === '' ? {} : { by: by.trim() }), ...place });
  const isLate = wait.due !== null && wait.due * 1000 < Date.now();
  const said = of.steps.find((step) => step.node === wait.node)?.text;
  return (
    <section class="wait" aria-label={text.waitsAt(wait.state)}>
      <Heading>{text.waitsAt(plainName(wait.state))}</Heading>
      {said && Heading === 'h3' && <p dir="auto">{shown(clean(said))}</p>}
      {wait.due !== null && (
        <p class="quiet">
          {text.due}: {fullTime(wait.due)}
        </p>
      )}
      {wait.is_approval ? <Approval give={giveValue} /> : <Answer expects={wait.expects} give={giveValue} />}
      {isLate && (
        <button type="button" class="button" onClick={() => give({ late: true })}>
          {text.late}
        </button>
      )}
    </section>
  );
}

type Give = (value: unknown, by: string) => void;

function Approval({ give }: { give: Give }) {
  const text = around.value;
  const by = useSignal('');
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      <label class="field">
        {text.decidedBy}
        <input
          type="text"
          name="by"
          required
          autocomplete="name"
          value={by.value}
          onInput={(event) => (by.value = event.currentTarget.value)}
        />
      </label>
      <div class="form-foot">
        <button type="button" class="button" aria-disabled={isRunning.value} onClick={() => give(false, by.value)}>
          {text.refuse}
        </button>
        <button
          type="button"
          class="button primary"
          aria-disabled={isRunning.value}
          onClick={() => give(true, by.value)}
        >
          {text.approve}
        </button>
      </div>
    </form>
  );
}

/** A form of what is expected: the fields of an object, or one field for everything else. */
function Answer({ expects, give }: { expects: unknown; give: Give }) {
  const text = around.value;
  const inner = fieldsOf(expects);
  const single = text.answer;
  const fields = inner ?? [fieldOf(single, expects ?? {}, true)];
  const texts = useSignal<Record<string, string>>({});
  const isTried = useSignal(false);
  const { values, problems } = filled(fields, texts.value);
  const isBoolean = inner === null && fields[0]?.kind === 'boolean';
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        isTried.value = true;
        if (Object.keys(problems).length > 0) return;
        give(inner === null ? (isBoolean ? values[single] === true : values[single]) : values, '');
      }}
    >
      <Fields fields={fields} texts={texts} problems={isTried.value ? problems : {}} />
      <div class="form-foot">
        <button type="submit" class="button primary" aria-disabled={isRunning.value}>
          {text.answerSend}
        </button>
      </div>
    </form>
  );
}

/** In a conversation where a flow runs: what it waits for, over the place where messages are written. */
export function FlowInConversation({ conversation }: { conversation: OpenConversation }) {
  const text = around.value;
  const name = flowOf(conversation.info.value);
  const version = conversation.version.value;
  useEffect(() => {
    if (name !== null) void loadFlows();
  }, [name]);
  useEffect(() => {
    if (name !== null && !isRunning.peek()) void readRun(name, conversation.id);
  }, [name, conversation.id, version]);
  const flow = flows.value.find((entry) => entry.id === name);
  const present = run.value?.id === conversation.id ? run.value : null;
  if (name === null || !flow || !present) return null;
  return (
    <section class="flow-strip" aria-label={text.flowRuns(name)}>
      <p>
        {text.flowRuns(plainName(name))}{' '}
        <a href={writeRoute({ screen: 'flows', subject: name, node: conversation.id })}>{text.openFlow}</a>
      </p>
      <Progress of={present} />
      <Waits flow={flow} of={present} heading="h2" />
    </section>
  );
}
