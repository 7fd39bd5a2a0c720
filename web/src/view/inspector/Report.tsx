// What a reply reports besides its text: time, tokens and cost, tools, sources, guards, warnings.
import type { ComponentChildren } from 'preact';
import type { Node } from '../../api/types';
import { number } from '../../language';
import { inspecting } from '../../language/inspecting';
import { known } from '../../state/inspected';
import type { OpenConversation } from '../../state/open';
import { open } from '../../state/session';
import { plainName } from '../../text/plain';
import { citations } from '../../text/tokens';
import { JsonTree } from '../JsonTree';
import { Costs } from './Costs';
import { usePanelFocus } from './focus';
import { ReuseBar } from './Reuse';
import { Timing } from './Timing';
import { Warnings } from './Warnings';

export function Report() {
  usePanelFocus(() => undefined);
  const present = open.value;
  const id = present?.focused.value ?? present?.at.value ?? null;
  void present?.version.value;
  void known.value;
  const node = present?.tree.get(id);
  if (!present || !node) return null;
  const text = inspecting.value;
  const { reply } = node;
  return (
    <div class="report">
      {reply?.warnings && reply.warnings.length > 0 && (
        <Section title={text.warnings}>
          <Warnings warnings={reply.warnings} />
        </Section>
      )}
      <Tools conversation={present} node={node} />
      <Sources node={node} />
      <Guards node={node} />
      {reply && (
        <Section title={text.timing}>
          <Timing node={node.id} />
        </Section>
      )}
      {reply?.cache && (
        <Section title={text.reuse}>
          <ReuseBar
            reuse={{
              first_difference: null,
              why: null,
              ...reply.cache,
              miss: reply.cache.miss ?? null,
            }}
          />
        </Section>
      )}
      {reply && (
        <Section title={text.usage}>
          <Costs key={node.id} conversation={present} node={node} />
        </Section>
      )}
    </div>
  );
}

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="report-part" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** The results of the calls of a reply, by the ids of these: in the messages of tools that follow. */
function resultsOf(conversation: OpenConversation, node: Node): Map<string, Record<string, unknown>> {
  const results = new Map<string, Record<string, unknown>>();
  const waiting = [...conversation.tree.children(node.id)];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const child = conversation.tree.get(id);
    if (child?.role !== 'tool') continue;
    for (const { tool_result } of child.parts) {
      if (tool_result && typeof tool_result['id'] === 'string' && !results.has(tool_result['id']))
        results.set(tool_result['id'], tool_result);
    }
    waiting.push(...conversation.tree.children(id));
  }
  return results;
}

function Tools({ conversation, node }: { conversation: OpenConversation; node: Node }) {
  const text = inspecting.value;
  const calls = node.parts.flatMap((part) => (part.tool_call ? [part.tool_call] : []));
  if (calls.length === 0) return null;
  const results = resultsOf(conversation, node);
  return (
    <Section title={text.tools}>
      {calls.map((call) => {
        const result = results.get(call.id);
        const isFailed = result?.['is_error'] === true;
        return (
          <div key={call.id} class="tool-call">
            <p class="inspect-title">
              <code>{plainName(call.name)}</code> {isFailed && <span class="chip warn">{text.failed}</span>}
              {!result && <span class="chip">{text.pending}</span>}
            </p>
            <h3>{text.arguments}</h3>
            <JsonTree value={call.arguments} label={text.arguments} />
            {result && (
              <>
                <h3>{text.result}</h3>
                <JsonTree value={result['content']} label={text.result} />
              </>
            )}
          </div>
        );
      })}
    </Section>
  );
}

interface Passage {
  id: string;
  source?: string;
  heading?: string;
}

function Sources({ node }: { node: Node }) {
  const text = inspecting.value;
  const documents = node.reply?.facts?.['documents'] as { query?: string; passages?: Passage[] } | undefined;
  const memory = node.reply?.facts?.['memory'] as { shown?: unknown[] } | undefined;
  const own = node.parts.flatMap((part) => (part.source === undefined ? [] : [part.source]));
  const passages = documents?.passages ?? [];
  if (passages.length === 0 && !memory?.shown && own.length === 0) return null;
  const cited = citations(node.text);
  const unknown = [...cited.keys()].filter((given) => passages.length > 0 && (given < 1 || given > passages.length));
  return (
    <Section title={text.sources}>
      {documents?.query !== undefined && (
        <p class="quiet">
          {text.query}: {plainName(documents.query)}
        </p>
      )}
      <ol class="source-list">
        {passages.map((passage, index) => {
          const times = cited.get(index + 1) ?? 0;
          return (
            <li key={index}>
              <span>{plainName(passage.heading ?? passage.source ?? passage.id)}</span>{' '}
              <code>{plainName(passage.id)}</code>{' '}
              <span class={times > 0 ? 'chip label' : 'chip'}>
                {times > 0 ? text.cited(number(times)) : text.notCited}
              </span>
            </li>
          );
        })}
      </ol>
      {unknown.length > 0 && <p class="warn">{text.citesNothing(unknown.map((given) => `[${given}]`).join(', '))}</p>}
      {memory?.shown && <p>{text.memory(number(memory.shown.length))}</p>}
      {own.map((source, index) => (
        <JsonTree key={index} value={source} label={text.sources} />
      ))}
    </Section>
  );
}

/** Facts that have a place of their own. */
const SHOWN = new Set(['documents', 'memory']);

function Guards({ node }: { node: Node }) {
  const text = inspecting.value;
  const facts = Object.entries(node.reply?.facts ?? {}).filter(([name]) => !SHOWN.has(name));
  const cut = (node.reply as { history_cut?: unknown } | null)?.history_cut;
  const [guards, others]: [[string, unknown][], [string, unknown][]] = [[], []];
  for (const fact of facts) (fact[0].startsWith('alloquy.') ? guards : others).push(fact);
  return (
    <>
      {guards.length > 0 && (
        <Section title={text.guards}>
          {guards.map(([name, value]) => (
            <Finding key={name} name={name} value={value} />
          ))}
        </Section>
      )}
      {(others.length > 0 || cut !== undefined) && (
        <Section title={text.notes}>
          {cut !== undefined && <JsonTree value={{ [text.cut]: cut }} label={text.cut} />}
          {others.length > 0 && <JsonTree value={Object.fromEntries(others)} label={text.notes} />}
        </Section>
      )}
    </>
  );
}

/** What a guard noted, in words where it is known here. */
function Finding({ name, value }: { name: string; value: unknown }) {
  const text = inspecting.value;
  const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  if (name === 'alloquy.redaction' || name === 'alloquy.redaction.history') {
    return (
      <div class="finding">
        <h3>{name === 'alloquy.redaction' ? text.redactedReply : text.redactedHistory}</h3>
        <ul>
          {Object.entries(fields).map(([pattern, count]) => (
            <li key={pattern}>{text.redacted(String(count), plainName(pattern))}</li>
          ))}
        </ul>
      </div>
    );
  }
  if (name === 'alloquy.validation' && typeof fields['attempts'] === 'number')
    return <p>{text.attempts(number(fields['attempts']))}</p>;
  if (name === 'alloquy.reply_cache' && fields['hit'] === true) return <p>{text.fromCache}</p>;
  return (
    <div class="finding">
      <h3>{plainName(name)}</h3>
      <JsonTree value={value} label={plainName(name)} />
    </div>
  );
}
