// What a person can choose for this browser.
import type { ComponentChildren } from 'preact';
import { words } from '../language';
import { OTHERS } from '../language/others';
import { hasKey, setKeyOfServer } from '../state/connection';
import { models } from '../state/session';
import { set, settings, type Sampling, type SamplingNumber, type Settings } from '../state/settings';
import { Dialog } from './Dialog';
import { overlay } from './overlays';
import { plainName } from '../text/plain';

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  change: (value: string) => void;
}

function Choice({ label, value, options, change }: ChoiceProps) {
  return (
    <label class="setting">
      <span>{label}</span>
      <select value={value} onChange={(event) => change(event.currentTarget.value)}>
        {options.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function NumberField({
  label,
  name,
  step,
  most,
}: {
  label: string;
  name: SamplingNumber;
  step: number;
  most?: number;
}) {
  const present = settings.value.sampling;
  return (
    <label class="setting">
      <span>{label}</span>
      <input
        type="number"
        inputMode="decimal"
        min={0}
        max={most}
        step={step}
        value={present[name] ?? ''}
        onChange={(event) => {
          const text = event.currentTarget.value;
          const others = Object.entries(present).filter(([other]) => other !== name);
          const sampling: Sampling = Object.fromEntries(others);
          if (text !== '' && event.currentTarget.validity.valid) sampling[name] = Number(text);
          set({ sampling });
        }}
      />
    </label>
  );
}

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export function SettingsDialog() {
  const text = words.value;
  const { theme, contrast, language, letters, model } = settings.value;
  return (
    <Dialog
      title={text.settings}
      onClose={() => {
        overlay.value = null;
      }}
    >
      <div class="settings">
        <Section title={text.appearance}>
          <Choice
            label={text.theme}
            value={theme}
            options={[
              ['system', text.asSystem],
              ['light', text.light],
              ['dark', text.dark],
            ]}
            change={(value) => set({ theme: value as Settings['theme'] })}
          />
          <Choice
            label={text.contrast}
            value={contrast}
            options={[
              ['system', text.asSystem],
              ['high', text.high],
            ]}
            change={(value) => set({ contrast: value as Settings['contrast'] })}
          />
          <Choice
            label={text.language}
            value={language}
            options={[
              ['system', text.asSystem],
              ['en', 'English'],
              ...Object.entries(OTHERS).map(([id, { name }]): [string, string] => [id, name]),
            ]}
            change={(value) => set({ language: value })}
          />
        </Section>
        <Section title={text.keyboard}>
          <label class="setting">
            <span>{text.letters}</span>
            <input
              type="checkbox"
              checked={letters}
              onChange={(event) => set({ letters: event.currentTarget.checked })}
            />
          </label>
        </Section>
        <Section title={text.answering}>
          <Choice
            label={text.model}
            value={model ?? ''}
            options={[['', text.firstModel], ...models.value.map((known) => [known.id, plainName(known.id)] as const)]}
            change={(value) => set({ model: value === '' ? null : value })}
          />
          <p class="quiet">{text.samplingNote}</p>
          <NumberField label={text.temperature} name="temperature" step={0.05} most={2} />
          <NumberField label={text.topP} name="top_p" step={0.01} most={1} />
          <NumberField label={text.maxTokens} name="max_tokens" step={1} />
          <NumberField label={text.seedNote} name="seed" step={1} />
        </Section>
        {hasKey() && (
          <Section title={text.keyLabel}>
            <button type="button" class="button" onClick={() => setKeyOfServer(null)}>
              {text.keyForget}
            </button>
          </Section>
        )}
      </div>
    </Dialog>
  );
}
