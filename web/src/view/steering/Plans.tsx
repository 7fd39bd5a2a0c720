// How many answers are asked for, and how each of them is made.
import type { ComponentChildren } from 'preact';
import { words } from '../../language';
import { FEWEST, MOST, changePlan, plans, setCount, type Plan } from '../../state/answers';
import { models } from '../../state/session';

const FIELDS = [
  ['temperature', 0.05, 2],
  ['top_p', 0.01, 1],
  ['max_tokens', 1, undefined],
  ['seed', 1, undefined],
] as const;

function PlanRow({ plan, index }: { plan: Plan; index: number }) {
  const text = words.value;
  const labels: Record<(typeof FIELDS)[number][0], string> = {
    temperature: text.temperature,
    top_p: text.topP,
    max_tokens: text.maxTokens,
    seed: text.seedNote,
  };
  return (
    <fieldset class="plan">
      <legend>{text.answerNumber(index + 1)}</legend>
      <label>
        <span>{text.model}</span>
        <select
          value={plan.model ?? ''}
          onChange={(event) => changePlan(index, { model: event.currentTarget.value || null })}
        >
          <option value="">{text.asSettings}</option>
          {models.value.map((model) => (
            <option key={model.id} value={model.id}>
              {model.id}
            </option>
          ))}
        </select>
      </label>
      {FIELDS.map(([name, step, most]) => (
        <label key={name}>
          <span>{labels[name]}</span>
          <input
            type="number"
            inputMode="decimal"
            min={0}
            max={most}
            step={step}
            value={plan.sampling[name] ?? ''}
            onChange={(event) => {
              const field = event.currentTarget;
              const sampling = { ...plan.sampling };
              if (field.value !== '' && field.validity.valid) sampling[name] = Number(field.value);
              else Reflect.deleteProperty(sampling, name);
              changePlan(index, { sampling });
            }}
          />
        </label>
      ))}
    </fieldset>
  );
}

/** The plans, with what begins them after their number. */
export function Plans({ children }: { children: ComponentChildren }) {
  const text = words.value;
  const counts = Array.from({ length: MOST - FEWEST + 1 }, (_, at) => FEWEST + at);
  return (
    <div class="plans">
      <label class="plan-count">
        <span>{text.answerCount}</span>
        <select value={plans.value.length} onChange={(event) => setCount(Number(event.currentTarget.value))}>
          {counts.map((count) => (
            <option key={count} value={count}>
              {count}
            </option>
          ))}
        </select>
      </label>
      {children}
      <details class="folded">
        <summary>{text.answerPlans}</summary>
        <div class="plan-list">
          {plans.value.map((plan, index) => (
            <PlanRow key={index} plan={plan} index={index} />
          ))}
        </div>
      </details>
    </div>
  );
}
