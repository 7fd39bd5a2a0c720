// The flows: each drawn with its states, begun, and answered where it waits.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Flow, FlowRun } from '../../api/around';
import { readGraphs } from '../../flow/graph';
import { fieldOf, filled, written } from '../../form/fields';
import { around } from '../../language/around';
import {
  begin,
  flows,
  flowsError,
  flowsState,
  isRunning,
  loadFlows,
  readError,
  run,
  runError,
  showRun,
} from '../../state/flows';
import { route, writeRoute } from '../../state/route';
import { plainName, summary } from '../../text/plain';
import { Fields } from './Fields';
import { Progress, Waits } from './FlowAnswer';
import { FlowDrawing } from './FlowGraph';
import { Screen } from './Screen';

export function FlowsScreen() {
  const text = around.value;
  const { subject: name, node: id } = route.value;
  useEffect(() => void loadFlows(), []);
  useEffect(() => void showRun(name, id), [name, id]);
  const flow = flows.value.find((entry) => entry.id === name);
  return (
    <Screen title={text.flowsTitle} isSplit>
      <nav class="choices" aria-label={text.flowsTitle}>
        {flows.value.length === 0 && (
          <p class="quiet padded">
            {flowsState.value === 'failed' ? flowsError.value : flowsState.value === 'ready' ? text.flowsEmpty : ''}
          </p>
        )}
        <ul>
          {flows.value.map((entry) => (
            <li key={entry.id}>
              <a
                href={writeRoute({ screen: 'flows', subject: entry.id })}
                aria-current={entry.id === name ? 'page' : undefined}
              >
                <span class="entry-title">{plainName(entry.id)}</span>
                <span class="entry-facts">{text.states(entry.states.length)}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="choice-content">
        {flow ? (
          <FlowView key={flow.id} flow={flow} id={id} />
        ) : (
          <p class="quiet">{flows.value.length > 0 && text.flowsNone}</p>
        )}
      </div>
    </Screen>
  );
}

function FlowView({ flow, id }: { flow: Flow; id: string | null }) {
  const present = id !== null && run.value?.id === id ? run.value : null;
  const now = new Set(present?.waits.map((wait) => wait.state) ?? []);
  if (present?.state && now.size === 0) now.add(present.state);
  const visited = new Set(present?.steps.map((step) => step.state) ?? []);
  return (
    <>
      <header class="choice-head">
        <h2>{plainName(flow.id)}</h2>
      </header>
      <div class="flow-parts">
        <div>
          {readGraphs(flow.mermaid).map((graph) => (
            <FlowDrawing key={graph.name ?? ''} name={flow.id} graph={graph} present={now} visited={visited} />
          ))}
        </div>
        <div class="flow-side">
          {present && <Run flow={flow} of={present} />}
          {id !== null && present === null && readError.value !== null && (
            <p class="field-problem">{plainName(readError.value)}</p>
          )}
          <Begin flow={flow} isAgain={present !== null} />
        </div>
      </div>
    </>
  );
}

function Begin({ flow, isAgain }: { flow: Flow; isAgain: boolean }) {
  const text = around.value;
  const fields = Object.entries(flow.variables).map(([name, type]) => fieldOf(name, { type }, false));
  const texts = useSignal<Record<string, string>>({});
  const { values, problems } = filled(fields, texts.value);
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (Object.keys(problems).length === 0) void begin(flow, values);
      }}
    >
      {fields.length > 0 && (
        <details class="folded">
          <summary>{text.variables}</summary>
          <div class="form">
            <Fields fields={fields} texts={texts} problems={problems} />
          </div>
        </details>
      )}
      {!isAgain && runError.value !== null && <p class="field-problem">{plainName(runError.value)}</p>}
      <div class="form-foot">
        <button type="submit" class={isAgain ? 'button' : 'button primary'} disabled={isRunning.value}>
          {isAgain ? text.beginAgain : text.begin}
        </button>
      </div>
    </form>
  );
}

function Run({ flow, of }: { flow: Flow; of: FlowRun }) {
  const text = around.value;
  const set = Object.entries(of.variables).filter(([, value]) => value !== null);
  return (
    <section class="flow-run" aria-label={text.runTitle}>
      <h3>{text.runTitle}</h3>
      <p>
        <a href={writeRoute({ screen: 'conversation', conversation: of.id, node: null })}>{text.openConversation}</a>
      </p>
      <Progress of={of} />
      <Waits flow={flow} of={of} />
      {set.length > 0 && (
        <dl class="facts">
          {set.map(([name, value]) => (
            <div key={name} class="fact">
              <dt>{plainName(name)}</dt>
              <dd>{plainName(written(value))}</dd>
            </div>
          ))}
        </dl>
      )}
      <details class="folded">
        <summary>
          {text.steps} ({of.steps.length})
        </summary>
        <ol class="steps">
          {of.steps.map((step) => (
            <li key={step.node}>
              <span class="chip">{plainName(step.state)}</span>{' '}
              {step.by && <span class="quiet">{plainName(step.by)}: </span>}
              <a href={writeRoute({ screen: 'conversation', conversation: of.id, node: step.node })}>
                {step.text === '' ? step.kind : summary(step.text, 80)}
              </a>
            </li>
          ))}
        </ol>
      </details>
    </section>
  );
}
