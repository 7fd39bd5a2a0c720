// The prompts of the library: listed, filled in by a form of their variables, and sent.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { PromptInfo } from '../../api/around';
import { filled, promptFields } from '../../form/fields';
import { around } from '../../language/around';
import {
  loadPrompts,
  nameOf,
  prompts,
  promptsError,
  promptsState,
  render,
  rendered,
  renderError,
  sendPrompt,
  showPrompt,
  shownPrompt,
  versionsOf,
  withoutVersion,
} from '../../state/library';
import { route, visit, writeRoute } from '../../state/route';
import { open } from '../../state/session';
import { clean, plainName } from '../../text/plain';
import { roleName } from '../roles';
import { PlainText } from '../Shown';
import { Fields } from './Fields';
import { Screen } from './Screen';

export function PromptsScreen() {
  const text = around.value;
  const id = route.value.subject;
  useEffect(() => void loadPrompts(), []);
  useEffect(() => void showPrompt(id), [id]);
  const names = [...new Set(prompts.value.map((info) => withoutVersion(info.id)))];
  return (
    <Screen title={text.promptsTitle} isSplit>
      <nav class="choices" aria-label={text.promptsTitle}>
        {names.length === 0 && (
          <p class="quiet padded">
            {promptsState.value === 'failed'
              ? promptsError.value
              : promptsState.value === 'ready'
                ? text.promptsEmpty
                : ''}
          </p>
        )}
        <ul>
          {names.map((name) => (
            <PromptEntry key={name} name={name} isPresent={id !== null && withoutVersion(id) === name} />
          ))}
        </ul>
      </nav>
      <div class="choice-content">
        {renderError.value !== null && shownPrompt.value === null && <p class="field-problem">{renderError.value}</p>}
        {shownPrompt.value ? (
          <PromptView key={`${shownPrompt.value.id} ${shownPrompt.value.digest}`} info={shownPrompt.value} />
        ) : (
          <p class="quiet">{names.length > 0 && text.promptsNone}</p>
        )}
      </div>
    </Screen>
  );
}

function PromptEntry({ name, isPresent }: { name: string; isPresent: boolean }) {
  const [kind = '', ...rest] = name.split('/');
  const versions = versionsOf(prompts.value, name);
  const newest = versions[0]?.version ?? null;
  return (
    <li>
      <a href={writeRoute({ screen: 'prompts', subject: name })} aria-current={isPresent ? 'page' : undefined}>
        <span class="entry-title">{plainName(rest.join('/'))}</span>
        <span class="entry-facts">{[kind, newest ?? ''].filter((part) => part !== '').join(' · ')}</span>
      </a>
    </li>
  );
}

function PromptView({ info }: { info: PromptInfo }) {
  const text = around.value;
  const fields = promptFields(info);
  const texts = useSignal<Record<string, string>>({});
  const isTried = useSignal(false);
  const { values, problems } = filled(fields, texts.value);
  const versions = versionsOf(prompts.value, info.id).filter((other) => other.version !== null);
  const whenValid = (work: () => Promise<void>) => {
    isTried.value = true;
    if (Object.keys(problems).length === 0) void work();
  };
  return (
    <>
      <header class="choice-head">
        <h2>{plainName(info.name)}</h2>
        <span class="chip">{info.kind}</span>
        {info.model !== null && (
          <span class="chip">
            {text.suggestedModel}: {plainName(info.model)}
          </span>
        )}
        {versions.length > 1 ? (
          <label>
            {text.version}{' '}
            <select
              value={nameOf(info)}
              onChange={(event) => visit({ screen: 'prompts', subject: event.currentTarget.value })}
            >
              {versions.map((other) => (
                <option key={other.version} value={nameOf(other)}>
                  {other.version}
                </option>
              ))}
            </select>
          </label>
        ) : (
          info.version !== null && (
            <span class="chip">
              {text.version} {info.version}
            </span>
          )
        )}
      </header>
      <details class="folded" open>
        <summary>{text.template}</summary>
        {info.texts.map((template, index) => (
          <PlainText key={index} text={clean(template)} isCode />
        ))}
      </details>
      <form
        class="form"
        noValidate
        aria-label={text.values}
        onSubmit={(event) => {
          event.preventDefault();
          whenValid(() => render(values));
        }}
      >
        <h3>{text.values}</h3>
        {fields.length === 0 && <p class="quiet">{text.noValues}</p>}
        <Fields fields={fields} texts={texts} problems={isTried.value ? problems : {}} />
        <div class="form-foot">
          <button type="submit" class="button">
            {text.render}
          </button>
          {info.kind !== 'system' && open.value && (
            <button type="button" class="button" onClick={() => whenValid(() => sendPrompt(values, false))}>
              {text.sendHere}
            </button>
          )}
          <button type="button" class="button primary" onClick={() => whenValid(() => sendPrompt(values, true))}>
            {info.kind === 'system' ? text.beginWith : text.sendNew}
          </button>
        </div>
      </form>
      <Rendered />
    </>
  );
}

function Rendered() {
  const text = around.value;
  if (renderError.value !== null) {
    return (
      <p class="field-problem" role="alert">
        {plainName(renderError.value)}
      </p>
    );
  }
  if (!rendered.value) return null;
  const { missing } = rendered.value.prompt;
  const names = Array.isArray(missing) ? missing.map(String) : [];
  return (
    <section class="rendered" aria-label={text.renderedTitle} role="status">
      <h3>{text.renderedTitle}</h3>
      {names.length > 0 && <p class="chip warn">{text.renderedMissing(plainName(names.join(', ')))}</p>}
      {rendered.value.messages.map((message, index) => (
        <div key={index} class="rendered-message">
          <span class="writer">{roleName(message.role)}</span>
          <PlainText text={clean(message.content)} />
        </div>
      ))}
    </section>
  );
}
