// The prompt of a message as the model received it: its tokens, its parts or its text, each with its origin.
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { PromptObject } from '../../api/inspecting';
import { number, words } from '../../language';
import { inspecting } from '../../language/inspecting';
import { open } from '../../state/session';
import { clean, plainName } from '../../text/plain';
import { chunksOf, linesOf, runsOf, visible, type Chunk, type Run } from '../../text/tokens';
import { shortModel } from '../roles';
import { shown } from '../Shown';
import { VirtualList } from '../VirtualList';
import { Modes, WideButton, type Mode } from './controls';
import { Legend } from './Legend';
import { originClass, originName } from './origins';
import { usePanelFocus } from './focus';
import { usePrompt } from './prompts';
import { ReuseBar } from './Reuse';
import { TokenFlow } from './TokenFlow';
import { Warnings } from './Warnings';

export function Prompt() {
  const present = open.value;
  const id = present?.focused.value ?? present?.at.value ?? null;
  const { prompt, error } = usePrompt(id);
  const text = inspecting.value;
  if (id === null) return <p class="quiet padded">{text.promptEmpty}</p>;
  if (error !== null) return <Failed error={error} />;
  if (!prompt) {
    return (
      <p class="quiet padded" aria-busy="true">
        {words.value.loading}
      </p>
    );
  }
  const isReply = present?.tree.get(id)?.role === 'assistant';
  return <Shown key={prompt.node} prompt={prompt} isReply={isReply} />;
}

function Failed({ error }: { error: string }) {
  usePanelFocus(() => undefined);
  return <p class="quiet padded">{plainName(error)}</p>;
}

function Shown({ prompt, isReply }: { prompt: PromptObject; isReply: boolean }) {
  const text = inspecting.value;
  const mode = useSignal<Mode>('tokens');
  const only = useSignal<string | null>(null);
  const active = useSignal(0);
  const wanted = useSignal(0);
  const hasIds = useSignal(true);
  usePanelFocus(() => {
    if (mode.value === 'tokens') wanted.value += 1;
  });
  const counts = useMemo(() => {
    const found = new Map<string | null, number>();
    for (const { origin } of prompt.tokens) found.set(origin, (found.get(origin) ?? 0) + 1);
    return found;
  }, [prompt]);
  const model = plainName(shortModel(prompt.model));
  return (
    <div class="inspect">
      <div class="inspect-head">
        <p class="inspect-title">{isReply ? text.promptOf(model) : text.promptWould(model)}</p>
        <WideButton />
      </div>
      <p class="quiet inspect-facts">
        {text.length(number(prompt.positions), number(prompt.context))}
        {prompt.template !== null && ` · ${text.template(plainName(prompt.template))}`}
      </p>
      {isReply && <Agreement agrees={prompt.agrees} />}
      {prompt.reuse && <ReuseBar reuse={prompt.reuse} />}
      <Warnings warnings={prompt.warnings} />
      <div class="inspect-bar">
        <Modes mode={mode.value} choose={(chosen) => (mode.value = chosen)} />
        {mode.value === 'tokens' && (
          <label class="switch">
            <input
              type="checkbox"
              checked={hasIds.value}
              onChange={(event) => (hasIds.value = event.currentTarget.checked)}
            />
            {text.ids}
          </label>
        )}
      </div>
      <Legend counts={counts} only={only.value} choose={(origin) => (only.value = origin)} />
      {mode.value === 'tokens' && (
        <>
          <TokenFlow
            tokens={prompt.tokens}
            label={text.prompt}
            describedBy="prompt-hint"
            hasIds={hasIds.value}
            classOf={(index) => classOf(prompt.tokens[index]?.origin ?? null, only.value)}
            nameOf={(index) => originName(prompt.tokens[index]?.origin ?? null)}
            look={`${only.value}`}
            active={active.value}
            onActive={(index) => (active.value = index)}
            mark={mark(prompt)}
            wanted={wanted.value}
          />
          <p id="prompt-hint" class="hidden">
            {text.tokenHint}
          </p>
          <About prompt={prompt} index={active.value} />
        </>
      )}
      {mode.value === 'parts' && (
        <Parts
          prompt={prompt}
          only={only.value}
          show={(index) => {
            active.value = index;
            mode.value = 'tokens';
            wanted.value += 1;
          }}
        />
      )}
      {mode.value === 'text' && <Lines prompt={prompt} only={only.value} />}
    </div>
  );
}

function classOf(origin: string | null, only: string | null): string {
  const isFaint = only !== null && only !== (origin ?? 'unknown');
  return `${originClass(origin)}${isFaint ? ' faint' : ''}`;
}

function mark(prompt: PromptObject): { index: number; text: string } | null {
  const cached = prompt.reuse?.cached ?? 0;
  return cached > 0 && cached < prompt.tokens.length ? { index: cached, text: inspecting.value.cachedHere } : null;
}

function Agreement({ agrees }: { agrees: boolean | null }) {
  const text = inspecting.value;
  if (agrees === true) return <p class="inspect-facts good">{text.agrees}</p>;
  return <p class="inspect-facts warn">{agrees === null ? text.agreesUnknown : text.disagrees}</p>;
}

/** What is known of the token with the focus. */
function About({ prompt, index }: { prompt: PromptObject; index: number }) {
  const text = inspecting.value;
  const token = prompt.tokens[index];
  if (!token) return null;
  const { cached } = prompt.reuse ?? { cached: null };
  return (
    <dl class="token-about">
      <div>
        <dt>{text.place}</dt>
        <dd>{number(index + 1)}</dd>
      </div>
      <div>
        <dt>{text.id}</dt>
        <dd>{token.id ?? '–'}</dd>
      </div>
      <div>
        <dt>{token.bytes ? text.bytes : text.text}</dt>
        <dd>
          <code>
            {token.media ?? (token.bytes || token.text === null ? visible(token) : JSON.stringify(token.text))}
          </code>
        </dd>
      </div>
      <div>
        <dt>{text.originName}</dt>
        <dd>
          <span class={`swatch ${originClass(token.origin)}`} aria-hidden="true" /> {originName(token.origin)}
          {cached !== null && ` · ${index < cached ? text.isCached : text.isComputed}`}
        </dd>
      </div>
    </dl>
  );
}

interface PartsProps {
  prompt: PromptObject;
  only: string | null;
  show: (index: number) => void;
}

/** Consecutive tokens of one origin, one after the other. */
function Parts({ prompt, only, show }: PartsProps) {
  const text = inspecting.value;
  const runs = useMemo(() => {
    const all = runsOf(prompt.tokens);
    return only === null ? all : all.filter((run) => (run.origin ?? 'unknown') === only);
  }, [prompt, only]);
  return (
    <div class="inspect-list">
      <VirtualList
        items={runs}
        keyOf={(run) => String(run.begin)}
        estimate={() => 84}
        gap={6}
        label={text.asParts}
        role="list"
        isFocusable
        render={(run) => (
          <div class="run" role="listitem">
            <p class="run-head">
              <span class={`swatch ${originClass(run.origin)}`} aria-hidden="true" />
              <strong>{originName(run.origin)}</strong>
              <span class="quiet">
                {text.tokensOf(number(run.end - run.begin))} · {text.places(number(run.begin + 1), number(run.end))}
              </span>
              <button type="button" class="text-button" onClick={() => show(run.begin)}>
                {text.showTokens}
              </button>
            </p>
            <pre class="run-text" dir="auto">
              {shown(runText(prompt, run))}
            </pre>
          </div>
        )}
      />
    </div>
  );
}

/** How much of a part is shown. */
const PART = 2000;

function runText(prompt: PromptObject, run: Run): string {
  let text = '';
  for (let index = run.begin; index < run.end && text.length < PART; index += 1) {
    const token = prompt.tokens[index];
    if (token) text += token.bytes || token.text === null ? visible(token) : token.text;
  }
  return clean(text.length < PART ? text : `${text.slice(0, PART)} …`);
}

/** The text of the prompt with the colours of its origins. */
function Lines({ prompt, only }: { prompt: PromptObject; only: string | null }) {
  const lines = useMemo(() => linesOf(prompt.spans), [prompt]);
  const chunks = useMemo(() => chunksOf(lines.length, (index) => lines[index]?.text ?? ''), [lines]);
  const draw = (chunk: Chunk) => {
    const drawn = lines.slice(chunk.begin, chunk.end).map((line, index) => (
      <span key={index} class={`span ${classOf(line.origin, only)}`} title={originName(line.origin)}>
        {shown(clean(line.text))}
      </span>
    ));
    return (
      <pre class="prompt-text" role="listitem">
        {drawn}
      </pre>
    );
  };
  return (
    <div class="inspect-list">
      <VirtualList
        items={chunks}
        keyOf={(chunk) => String(chunk.begin)}
        estimate={(chunk) => 23 * (chunk.end - chunk.begin)}
        label={inspecting.value.asText}
        role="list"
        isFocusable
        render={draw}
      />
    </div>
  );
}
