// What this window knows of replies besides what is stored: when things happened in its own turns, and how likely the
// tokens were. It is forgotten with the window and with its key, and the oldest first.
import { effect, signal } from '@preact/signals';
import type { About } from '../api/inspecting';
import type { NewTurn } from '../api/types';
import { client, keyOfServer } from './connection';
import type { Likely } from './remembered';
import { keep, kept, settings } from './settings';
import { TurnClock, type Span } from './timing';
import { observers, type RunningTurn } from './turns';

export type { Likely };

/** How many replies are remembered. */
const REPLIES = 40;
/** How many tokens are reported at each place. */
export const TOP = 8;

/** Grows when there is more to know. */
export const known = signal(0);
const likely = new Map<string, Likely>();
const spans = new Map<string, readonly Span[]>();
const clocks = new WeakMap<RunningTurn, TurnClock>();

function remember<T>(all: Map<string, T>, node: string, value: T): void {
  all.delete(node);
  all.set(node, value);
  const oldest = all.keys().next().value;
  if (all.size > REPLIES && oldest !== undefined) all.delete(oldest);
  known.value += 1;
}

/** Under which name the window keeps it. */
const KEPT = 'alloquy.replies';

/** Adds what was known before, which is older than all that is known. */
function recall<T>(all: Map<string, T>, before: ReadonlyMap<string, T>): void {
  const newer = [...all];
  all.clear();
  for (const [node, value] of [...before, ...newer]) remember(all, node, value);
}

/** Recalls what was known before the page was loaded again, and keeps what becomes known from now on. */
async function keepReplies(): Promise<void> {
  const { fromText, textOf } = await import('./remembered');
  const before = fromText(kept('session', KEPT));
  recall(likely, before.likely);
  recall(spans, before.spans);
  let isWaiting = false;
  effect(() => {
    void known.value;
    if (isWaiting) return;
    isWaiting = true;
    // Once for all that becomes known together.
    queueMicrotask(() => {
      isWaiting = false;
      if (likely.size + spans.size > 0) keep('session', KEPT, textOf({ likely, spans }));
    });
  });
}

/** Another key may be that of another person. */
function forgetWithKey(): void {
  let before = keyOfServer();
  effect(() => {
    const key = keyOfServer();
    if (key === before) return;
    before = key;
    likely.clear();
    spans.clear();
    keep('session', KEPT, null);
  });
}

export function likelyOf(node: string): Likely | null {
  return likely.get(node) ?? null;
}

export function rememberLikely(node: string, value: Likely): void {
  remember(likely, node, value);
}

/** Returns what happened in the turn that wrote a reply, if it ran in this window. */
export function spansOf(node: string): readonly Span[] | null {
  return spans.get(node) ?? null;
}

/** Begins to see the turns of this window. */
export function observeTurns(): void {
  forgetWithKey();
  void keepReplies();
  observers.add((turn, event) => {
    let clock = clocks.get(turn);
    if (!clock) {
      clock = new TurnClock(turn.begun);
      clocks.set(turn, clock);
    }
    clock.event(event, Date.now());
    if (event.kind !== 'finished') return;
    const { node, nodes, logprobs, begun = 0, timings = [] } = event.turn;
    const seen = clock.spans(timings);
    for (const added of nodes) if (added.role === 'assistant') remember(spans, added.id, seen);
    if (logprobs) remember(likely, node, { begun, tokens: logprobs, isSampled: true });
  });
}

/** What the server said of itself; `null` until it did. */
export const about = signal<About | null>(null);
let isAsked = false;

/** Asks the server once what its models can do. One that does not say is taken to do everything. */
export function learnAbout(isAgain = false): void {
  if (isAsked && !isAgain) return;
  isAsked = true;
  client.about().then(
    (said) => {
      about.value = said;
    },
    () => {
      isAsked = false;
    },
  );
}

/** Returns whether a model can do something: `null` where that is not known. */
export function can(model: string | null, what: string): boolean | null {
  const all = about.value?.models ?? [];
  const found = model === null ? all[0] : all.find((one) => one.id === model || one.aliases.includes(model));
  return found?.capabilities?.[what] ?? null;
}

/** Returns what requests log-probabilities, if they are wanted and the model is not known to have none. */
export function logprobOptions(model: string | null): NewTurn {
  if (!settings.value.logprobs) return {};
  const is = can(model, 'logprobs');
  // A model says what it can do once it is in memory.
  if (is === null) learnAbout(true);
  if (is === false) return {};
  return { logprobs: true, top_logprobs: TOP };
}
