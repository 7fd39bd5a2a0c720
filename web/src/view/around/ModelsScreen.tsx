// The models with what they can do, and how replies of this browser are made.
import { useEffect } from 'preact/hooks';
import type { AboutModel } from '../../api/around';
import { around } from '../../language/around';
import { about, answering, refreshAbout } from '../../state/server';
import { models } from '../../state/session';
import { EFFORTS, set, settings, type Sampling, type SamplingNumber } from '../../state/settings';
import { plainName } from '../../text/plain';
import { Screen } from './Screen';

export function ModelsScreen() {
  const text = around.value;
  useEffect(() => void refreshAbout(), []);
  return (
    <Screen title={text.modelsTitle}>
      <section aria-label={text.models}>
        <h2>{text.models}</h2>
        <ul class="cards">
          {models.value.map(({ id }) => (
            <ModelCard key={id} id={id} model={about.value?.models.find((entry) => entry.id === id)} />
          ))}
        </ul>
      </section>
      <SamplingForm />
    </Screen>
  );
}

function ModelCard({ id, model }: { id: string; model: AboutModel | undefined }) {
  const text = around.value;
  const isUsed = answering.value === id;
  const can = Object.entries(model?.capabilities ?? {}).flatMap(([name, is]) => (is === true ? [name] : []));
  return (
    <li class="card" data-used={isUsed}>
      <h3>{plainName(id)}</h3>
      {model && (
        <p class="quiet">
          {model.loaded ? text.loaded : text.notLoaded}
          {model.context_length !== null && ` · ${text.context(model.context_length)}`}
          {model.aliases.length > 0 && ` · ${model.aliases.map(plainName).join(', ')}`}
        </p>
      )}
      {can.length > 0 ? (
        <p class="chips">
          {can.map((name) => (
            <span key={name} class="chip">
              {text.ability[name] ?? name}
            </span>
          ))}
        </p>
      ) : (
        model && <p class="quiet">{text.unknownAbilities}</p>
      )}
      <button type="button" class="button small" aria-pressed={isUsed} onClick={() => set({ model: id })}>
        {isUsed ? text.inUse : text.use}
      </button>
    </li>
  );
}

const FIELDS: readonly [SamplingNumber, number | 'any', number?, number?][] = [
  ['temperature', 'any', 0],
  ['top_p', 'any', 0, 1],
  ['top_k', 1, 0],
  ['min_p', 'any', 0, 1],
  ['typical_p', 'any', 0, 1],
  ['repetition_penalty', 'any', 0],
  ['presence_penalty', 'any'],
  ['frequency_penalty', 'any'],
  ['no_repeat_ngram', 1, 0],
  ['max_tokens', 1, 1],
  ['seed', 1, 0],
];

function put(name: keyof Sampling, value: number | string[] | null): void {
  const others = Object.entries(settings.value.sampling).filter(([other]) => other !== name);
  const next = value === null ? others : [...others, [name, value] as const];
  set({ sampling: Object.fromEntries(next) });
}

function SamplingForm() {
  const text = around.value;
  const { sampling, effort, systemPrompt } = settings.value;
  return (
    <section aria-label={text.samplingTitle}>
      <h2>{text.samplingTitle}</h2>
      <div class="sampling">
        {FIELDS.map(([name, step, least, most]) => (
          <label key={name} class="field">
            {text.samplingNames[name] ?? name}
            <input
              type="number"
              name={name}
              step={step}
              min={least}
              max={most}
              value={sampling[name] ?? ''}
              onChange={(event) => {
                const { value, validity } = event.currentTarget;
                if (validity.valid) put(name, value === '' ? null : Number(value));
                else event.currentTarget.reportValidity();
              }}
            />
          </label>
        ))}
        <label class="field">
          {text.effort}
          <select
            name="effort"
            value={effort ?? ''}
            onChange={(event) => set({ effort: event.currentTarget.value === '' ? null : event.currentTarget.value })}
          >
            <option value="">{text.effortUsual}</option>
            {EFFORTS.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <label class="field">
        {text.stopTexts}
        <textarea
          name="stop"
          rows={2}
          value={(sampling.stop ?? []).join('\n')}
          onChange={(event) => {
            const lines = event.currentTarget.value.split('\n').filter((line) => line !== '');
            put('stop', lines.length === 0 ? null : lines);
          }}
        />
      </label>
      <label class="field">
        {text.turnPrompt}
        <textarea
          name="system-prompt"
          rows={3}
          dir="auto"
          value={systemPrompt}
          onChange={(event) => set({ systemPrompt: event.currentTarget.value })}
        />
      </label>
      <div class="form-foot">
        <button type="button" class="button" onClick={() => set({ sampling: {}, effort: null, systemPrompt: '' })}>
          {text.samplingReset}
        </button>
      </div>
    </section>
  );
}
