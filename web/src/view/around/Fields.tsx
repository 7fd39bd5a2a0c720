// The fields of a form for values.
import type { Signal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { written, type Field, type Filled } from '../../form/fields';
import { around } from '../../language/around';

interface Props {
  fields: readonly Field[];
  texts: Signal<Record<string, string>>;
  problems: Filled['problems'];
}

export function Fields({ fields, texts, problems }: Props) {
  return (
    <>
      {fields.map((field) => (
        <OneField
          key={field.name}
          field={field}
          fields={fields.length}
          text={texts.value[field.name] ?? field.initial}
          problem={problems[field.name]}
          change={(text) => {
            texts.value = { ...texts.value, [field.name]: text };
          }}
        />
      ))}
    </>
  );
}

interface OneProps {
  field: Field;
  /** How many there are: a single one needs no sign that it is required. */
  fields: number;
  text: string;
  problem: 'missing' | 'invalid' | undefined;
  change: (text: string) => void;
}

function OneField({ field, fields, text, problem, change }: OneProps) {
  const id = useId();
  const words = around.value;
  const note = [field.note, field.kind === 'json' ? words.jsonValue : ''].filter((part) => part !== '').join(' · ');
  const shared = {
    id,
    name: field.name,
    required: field.isRequired && field.kind !== 'boolean',
    'aria-invalid': problem !== undefined,
    'aria-describedby': note === '' && problem === undefined ? undefined : `${id}-note`,
  };
  return (
    <div class="field">
      <label for={id}>
        {field.name}
        {field.isRequired && fields > 1 && <span class="chip">{words.required}</span>}
      </label>
      <Input field={field} text={text} change={change} shared={shared} />
      {(note !== '' || problem !== undefined) && (
        <p id={`${id}-note`} class={problem === undefined ? 'quiet' : 'field-problem'}>
          {problem === undefined ? note : problem === 'missing' ? words.missingValue : words.invalidValue}
        </p>
      )}
    </div>
  );
}

interface InputProps {
  field: Field;
  text: string;
  change: (text: string) => void;
  shared: Record<string, string | boolean | undefined>;
}

function Input({ field, text, change, shared }: InputProps) {
  switch (field.kind) {
    case 'boolean':
      return (
        <input
          {...shared}
          type="checkbox"
          checked={text === 'true'}
          onChange={(event) => change(event.currentTarget.checked ? 'true' : 'false')}
        />
      );
    case 'choice':
      return (
        <select {...shared} value={text} onChange={(event) => change(event.currentTarget.value)}>
          <option value="" />
          {field.choices.map((choice) => (
            <option key={written(choice)} value={written(choice)}>
              {written(choice)}
            </option>
          ))}
        </select>
      );
    case 'number':
    case 'integer':
      return (
        <input
          {...shared}
          type="number"
          step={field.kind === 'integer' ? 1 : 'any'}
          value={text}
          onInput={(event) => change(event.currentTarget.value)}
        />
      );
    default:
      return (
        <textarea
          {...shared}
          dir="auto"
          rows={field.kind === 'text' && !text.includes('\n') ? 1 : 4}
          value={text}
          onInput={(event) => change(event.currentTarget.value)}
        />
      );
  }
}
