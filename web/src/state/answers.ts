// Several answers to one question, written at once: each may have its own model and its own sampling.
import { signal } from '@preact/signals';
import type { NewTurn } from '../api/types';
import { words } from '../language';
import { client } from './connection';
import { speak } from './notices';
import { models, open } from './session';
import { keep, kept, settings, type Sampling } from './settings';
import { drop, start, stop, turnsOf, type Listeners, type RunningTurn } from './turns';

export const FEWEST = 2;
export const MOST = 8;
const NAME = 'alloquy.answers';
/** How long a stopped answer may take to be stored. */
const STORING = 4000;

/** How one of the answers is made; what is not set is as in the settings. */
export interface Plan {
  model: string | null;
  sampling: Sampling;
}

/** Reads plans; what is not valid there is left out. */
export function readPlans(text: string | null): Plan[] {
  let given: unknown = null;
  try {
    given = JSON.parse(text ?? 'null');
  } catch {
    // Damaged: the usual ones.
  }
  const plans: Plan[] = [];
  for (const entry of Array.isArray(given) ? given.slice(0, MOST) : []) {
    if (typeof entry !== 'object' || entry === null) continue;
    const { model, sampling } = entry as { model?: unknown; sampling?: unknown };
    const read: Sampling = {};
    for (const name of ['temperature', 'top_p', 'max_tokens', 'seed'] as const) {
      const value = typeof sampling === 'object' && sampling !== null ? (sampling as Sampling)[name] : undefined;
      if (typeof value === 'number' && Number.isFinite(value)) read[name] = value;
    }
    plans.push({ model: typeof model === 'string' ? model : null, sampling: read });
  }
  while (plans.length < FEWEST) plans.push({ model: null, sampling: {} });
  return plans;
}

export const plans = signal<readonly Plan[]>(readPlans(kept('local', NAME) ?? '[{},{},{}]'));

function setPlans(changed: readonly Plan[]): void {
  plans.value = changed;
  keep('local', NAME, JSON.stringify(changed));
}

export function setCount(count: number): void {
  const wanted = Math.max(FEWEST, Math.min(MOST, Math.round(count)));
  const changed = plans.value.slice(0, wanted);
  while (changed.length < wanted) changed.push({ model: null, sampling: {} });
  setPlans(changed);
}

export function changePlan(index: number, change: Partial<Plan>): void {
  setPlans(plans.value.map((plan, at) => (at === index ? { ...plan, ...change } : plan)));
}

/** Which turn wrote a stored answer, so that it stays at its place among the others, and how it was sampled. */
export const origins = new Map<string, { key: number; sampling: Record<string, unknown> }>();

function request(question: string, plan: Plan): NewTurn {
  const turn: NewTurn = { action: 'retry', node: question };
  const model = plan.model ?? settings.value.model;
  if (model !== null && models.value.some((known) => known.id === model)) turn.model = model;
  const sampling = { ...settings.value.sampling, ...plan.sampling };
  if (Object.keys(sampling).length > 0) turn.sampling = sampling;
  return turn;
}

function listeners(question: string): Listeners {
  return {
    node: (turn, node) => {
      if (node.parent === question) origins.set(node.id, { key: turn.key, sampling: turn.request.sampling ?? {} });
      if (open.value?.id === turn.conversation) open.value.put(node);
    },
    end: (turn) => {
      const others = turnsOf(turn.conversation).filter((other) => other !== turn && isFor(other, question));
      if (others.every((other) => other.state.value === 'failed')) speak(words.value.allAnswered);
      if (turn.state.value === 'stopping') setTimeout(() => drop(turn), STORING);
    },
    // Several voices at once say nothing.
    sentence: () => undefined,
  };
}

/** Whether a turn answers a question. */
export function isFor(turn: RunningTurn, question: string): boolean {
  return turn.request.action === 'retry' && turn.request.node === question;
}

/** Asks for all planned answers to a question. */
export function answerAll(question: string): void {
  const present = open.value;
  if (!present) return;
  for (const failed of turnsOf(present.id)) {
    if (isFor(failed, question) && failed.state.value === 'failed') drop(failed);
  }
  for (const plan of plans.value) {
    start(client, present.id, question, null, request(question, plan), listeners(question));
  }
}

/** Tries an answer that failed once more. */
export function answerAgain(turn: RunningTurn, question: string): void {
  drop(turn);
  start(client, turn.conversation, question, null, turn.request, listeners(question));
}

/** Stops all answers to a question; what was written is kept. */
export function stopAnswers(question: string): void {
  const present = open.value;
  if (!present) return;
  for (const turn of turnsOf(present.id)) {
    if (isFor(turn, question) && turn.state.value !== 'failed') stop(turn);
  }
}
