// The tokens of a reply: how likely each was, and what could stand in its place. An alternative is a branch.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { ReplyToken } from '../../api/inspecting';
import type { Node } from '../../api/types';
import { number, words } from '../../language';
import { inspecting } from '../../language/inspecting';
import { client } from '../../state/connection';
import { can, known, learnAbout, likelyOf, rememberLikely, type Likely } from '../../state/inspected';
import { fail } from '../../state/notices';
import { open } from '../../state/session';
import { set, settings } from '../../state/settings';
import { plainName } from '../../text/plain';
import { heatOf, visible } from '../../text/tokens';
import { shortModel } from '../roles';
import { Alternatives, percent } from './Alternatives';
import { answerAgain } from './branch';
import { WideButton } from './controls';
import { usePanelFocus } from './focus';
import { usePrompt } from './prompts';
import { TokenFlow } from './TokenFlow';

export function ReplyTokens() {
  const present = open.value;
  const id = present?.focused.value ?? present?.at.value ?? null;
  void present?.version.value;
  const node = present?.tree.get(id);
  if (node?.role !== 'assistant') return <p class="quiet padded">{inspecting.value.replyEmpty}</p>;
  return <Reply key={node.id} node={node} />;
}

function Reply({ node }: { node: Node }) {
  const text = inspecting.value;
  const { prompt, error } = usePrompt(node.id);
  void known.value;
  const likely = likelyOf(node.id);
  const tokens = useMemo(() => tokensOf(prompt?.reply_tokens ?? null, likely), [prompt, likely]);
  if (!prompt && error === null && !likely) {
    return (
      <p class="quiet padded" aria-busy="true">
        {words.value.loading}
      </p>
    );
  }
  return (
    <div class="inspect">
      <div class="inspect-head">
        <p class="inspect-title">{tokens ? text.tokensOf(number(tokens.length)) : text.replyUnknown}</p>
        <WideButton />
      </div>
      {!tokens && error !== null && <p class="quiet inspect-facts">{plainName(error)}</p>}
      <Known node={node} likely={likely} model={prompt?.model ?? node.reply?.model ?? null} />
      {tokens && (
        <Tokens
          node={node}
          tokens={tokens}
          likely={likely}
          stored={prompt?.reply_tokens ?? null}
          model={prompt?.model}
        />
      )}
    </div>
  );
}

/** The tokens that are shown: the stored ones, or else those whose likelihood is known. */
function tokensOf(stored: readonly ReplyToken[] | null, likely: Likely | null): readonly ReplyToken[] | null {
  const isSame =
    likely !== null &&
    stored !== null &&
    likely.tokens.every((token, index) => stored[likely.begun + index]?.id === token.id);
  if (stored !== null && (likely === null || isSame)) return stored;
  return likely?.tokens ?? stored;
}

interface KnownProps {
  node: Node;
  likely: Likely | null;
  model: string | null;
}

/** What is known of the likelihood, and how to learn it. */
function Known({ node, likely, model }: KnownProps) {
  const text = inspecting.value;
  const isScoring = useSignal(false);
  // A model says what it can do once it is in memory.
  useEffect(() => {
    if (can(model, 'logprobs') === null) learnAbout(true);
  }, [node.id, model]);
  const hasLogprobs = can(model, 'logprobs') !== false;
  const score = async () => {
    const conversation = open.value;
    if (!conversation) return;
    isScoring.value = true;
    try {
      const body: Record<string, unknown> = { node: node.parent ?? '', texts: [node.text] };
      if (model !== null) body['model'] = model;
      if (node.reply?.system_prompt !== undefined) body['system_prompt'] = node.reply.system_prompt;
      const scored = await client.scoreTokens(conversation.id, body);
      rememberLikely(node.id, { begun: 0, tokens: scored.scores[0]?.tokens ?? [], isSampled: false });
    } catch (error) {
      fail(error);
    }
    isScoring.value = false;
  };
  return (
    <>
      {likely && (
        <p class="quiet inspect-facts">
          {text.perplexity(perplexity(likely))}. {likely.isSampled ? text.sampledNote : text.scoredNote}
        </p>
      )}
      {!likely && (
        <p class="quiet inspect-facts">
          {hasLogprobs ? text.notLikely : text.noLogprobs(plainName(shortModel(model ?? words.value.model)))}
        </p>
      )}
      {hasLogprobs && (
        <div class="inspect-bar">
          {!likely?.isSampled && (
            <button type="button" class="button small" onClick={() => answerAgain(node, model)}>
              {text.answerAgain}
            </button>
          )}
          {!likely && node.text !== '' && can(model, 'score') !== false && (
            <button type="button" class="button small" disabled={isScoring.value} onClick={() => void score()}>
              {isScoring.value ? text.scoring : text.score}
            </button>
          )}
          <label class="switch">
            <input
              type="checkbox"
              checked={settings.value.logprobs}
              onChange={(event) => set({ logprobs: event.currentTarget.checked })}
            />
            {text.wantLogprobs}
          </label>
        </div>
      )}
    </>
  );
}

function perplexity(likely: Likely): string {
  const sum = likely.tokens.reduce((total, token) => total + token.logprob, 0);
  return Math.exp(-sum / Math.max(1, likely.tokens.length)).toPrecision(3);
}

interface TokensProps {
  node: Node;
  tokens: readonly ReplyToken[];
  likely: Likely | null;
  stored: readonly ReplyToken[] | null;
  model: string | undefined;
}

function Tokens({ node, tokens, likely, stored, model }: TokensProps) {
  const text = inspecting.value;
  const active = useSignal(0);
  const wanted = useSignal(0);
  const hasIds = useSignal(true);
  usePanelFocus(() => {
    wanted.value += 1;
  });
  /** How many of the tokens stand before those whose likelihood is known. */
  const begun = likely && tokens !== likely.tokens ? likely.begun : 0;
  const at = (index: number) => likely?.tokens[index - begun] ?? null;
  const nameOf = (index: number) => {
    if (index < begun) return text.given;
    const logprob = at(index)?.logprob;
    return logprob === undefined ? '' : `${text.probability} ${percent(logprob)}`;
  };
  const classOf = (index: number) => {
    if (index < begun) return 'given';
    const logprob = at(index)?.logprob;
    return logprob === undefined ? '' : `heat heat-${heatOf(logprob)}`;
  };
  const toAlternatives = (index: number) => {
    active.value = index;
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.alternatives button:not(:disabled)')?.focus());
  };
  return (
    <>
      <div class="inspect-bar">
        {likely ? <HeatLegend /> : <span />}
        <label class="switch">
          <input
            type="checkbox"
            checked={hasIds.value}
            onChange={(event) => (hasIds.value = event.currentTarget.checked)}
          />
          {text.ids}
        </label>
      </div>
      <TokenFlow
        tokens={tokens}
        label={text.reply}
        describedBy="reply-hint"
        hasIds={hasIds.value}
        classOf={classOf}
        nameOf={nameOf}
        look={`${begun} ${likely?.tokens.length ?? 0} ${likely?.isSampled ?? ''}`}
        active={active.value}
        onActive={(index) => (active.value = index)}
        onEnter={toAlternatives}
        wanted={wanted.value}
      />
      <p id="reply-hint" class="hidden">
        {text.replyHint}
      </p>
      <Alternatives
        key={active.value}
        node={node}
        index={active.value}
        shown={visible(tokens[active.value] ?? { id: null, text: null })}
        token={at(active.value)}
        before={stored ?? (likely?.begun === 0 ? likely.tokens : null)}
        place={active.value + (stored === tokens ? 0 : (likely?.begun ?? 0))}
        isGiven={active.value < begun}
        isStored={stored !== null && stored === tokens}
        model={model ?? null}
        back={() => (wanted.value += 1)}
      />
    </>
  );
}

const BOUNDS = [0.9, 0.5, 0.2, 0.05, 0.01];

function HeatLegend() {
  const text = inspecting.value;
  const share = (value: number) => `${number(100 * value)} %`;
  return (
    <ul class="legend heat-legend" aria-label={text.likelihood}>
      {BOUNDS.map((bound, index) => (
        <li key={bound}>
          <span class={`swatch heat heat-${index}`} aria-hidden="true" />
          {index === 0 ? text.atLeast(share(bound)) : `${share(bound)}–`}
        </li>
      ))}
      <li>
        <span class="swatch heat heat-5" aria-hidden="true" />
        {text.below(share(0.01))}
      </li>
    </ul>
  );
}
