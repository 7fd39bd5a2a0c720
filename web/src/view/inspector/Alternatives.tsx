// What could stand in the place of a token; each is a button that branches there.
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { SampledToken, ScoredToken } from '../../api/inspecting';
import type { Node } from '../../api/types';
import { number } from '../../language';
import { inspecting } from '../../language/inspecting';
import { alternativesAt, computeAlternatives, computing, placeName } from '../../state/alternatives';
import { can } from '../../state/inspected';
import { open } from '../../state/session';
import { visible } from '../../text/tokens';
import { shown } from '../Shown';
import { branchAtToken } from './branch';

/** Returns a probability for people. */
export function percent(logprob: number): string {
  const value = 100 * Math.exp(logprob);
  if (value > 0 && value < 0.01) return `< ${number(0.01)} %`;
  return `${number(Number(value.toPrecision(value > 99 ? 4 : 3)))} %`;
}

interface Props {
  node: Node;
  index: number;
  shown: string;
  token: SampledToken | ScoredToken | null;
  /** All ids of the reply, where they are known. */
  before: readonly { id: number }[] | null;
  /** The place of the token among them. */
  place: number;
  isGiven: boolean;
  /** Whether the ids of the reply are stored, so that the server finds the place again. */
  isStored: boolean;
  model: string | null;
  /** Returns the focus to the token. */
  back: () => void;
}

/** The others at the place of a token, where they were reported. */
function othersOf(token: SampledToken | ScoredToken | null): readonly ScoredToken[] {
  return token !== null && 'top_logprobs' in token ? token.top_logprobs : [];
}

export function Alternatives({
  node,
  shown: name,
  token: known,
  before,
  place,
  isGiven,
  isStored,
  model,
  back,
}: Props) {
  const text = inspecting.value;
  const conversation = open.value?.id ?? '';
  const here = placeName(conversation, node.id, place);
  const token = othersOf(known).length > 0 ? known : (alternativesAt(here) ?? known);
  const isComputable = isStored && can(model, 'logprobs') !== false && can(model, 'prefix') !== false;
  const all = othersOf(token);
  const isAmong = token !== null && all.some((other) => other.id === token.id);
  const list: ScoredToken[] = token === null ? [] : isAmong ? [...all] : [token, ...all];
  const section = useRef<HTMLElement>(null);
  // The button that computes them goes when they are there: the first one takes its focus at once.
  const hadFocus = section.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    const isLost = hadFocus && !section.current?.contains(document.activeElement);
    if (isLost) section.current?.querySelector<HTMLElement>('li button:not(:disabled)')?.focus();
  }, [list.length]);
  const compute = () => void computeAlternatives(conversation, node.id, place, model);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('button:not(:disabled)')];
    const at = buttons.indexOf(event.target as HTMLElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') back();
    else if (step !== undefined) buttons[(at + step + buttons.length) % buttons.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section ref={section} class="alternatives" aria-label={text.alternatives(name)} onKeyDown={onKeyDown}>
      <p class="inspect-title">
        {text.alternatives('')} <code>{shown(name)}</code>
        <span class="quiet"> {token ? percent(token.logprob) : isGiven ? text.given : ''}</span>
      </p>
      <ol>
        {list.map((other) => {
          const isChosen = other.id === token?.id;
          return (
            <li key={other.id}>
              <button
                type="button"
                disabled={isChosen}
                aria-label={`${text.branch(visible(other))}, ${other.id}, ${percent(other.logprob)}`}
                onClick={() => branchAtToken(node, model, before, place, token?.id ?? -1, other.id)}
              >
                <code class="alternative-text">{shown(visible(other))}</code>
                <span class="quiet">{other.id}</span>
                <span class="meter" aria-hidden="true">
                  <span style={{ width: `${100 * Math.exp(other.logprob)}%` }} />
                </span>
                <span class="alternative-share">{isChosen ? text.chosen : percent(other.logprob)}</span>
              </button>
            </li>
          );
        })}
      </ol>
      {list.length < 2 && <p class="quiet">{text.alternativesUnknown}</p>}
      {list.length < 2 && isComputable && (
        <button type="button" class="button small" aria-disabled={computing.value !== null} onClick={compute}>
          {computing.value === here ? text.scoring : text.askAlternatives}
        </button>
      )}
    </section>
  );
}
