// The search with conditions, and what it finds; a result opens its conversation at the message.
import { useEffect, useRef } from 'preact/hooks';
import { number, when, words } from '../../language';
import { around } from '../../language/around';
import { conversations, titleOf } from '../../state/list';
import { writeRoute } from '../../state/route';
import { models } from '../../state/session';
import {
  asked,
  compared,
  found,
  next,
  NOTHING,
  problem,
  searchMore,
  searchNow,
  searchState,
  type Asked,
  type Found,
} from '../../state/search';
import { plainName } from '../../text/plain';
import { highlighted } from '../highlight';
import { roleName, shortModel } from '../roles';
import { Screen } from './Screen';

function put(change: Partial<Asked>): void {
  asked.value = { ...asked.value, ...change };
}

export function SearchScreen() {
  const text = around.value;
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => {
    first.current?.focus();
    if (searchState.value === 'idle') void searchNow();
  }, []);
  return (
    <Screen title={text.searchTitle}>
      <search>
        <form
          class="search-form"
          onSubmit={(event) => {
            event.preventDefault();
            void searchNow();
          }}
        >
          <div class="search-words">
            <input
              ref={first}
              type="search"
              aria-label={text.searchWords}
              aria-describedby="search-hint"
              placeholder={text.searchWords}
              value={asked.value.text}
              onInput={(event) => put({ text: event.currentTarget.value })}
            />
            <button type="submit" class="button primary">
              {text.searchNow}
            </button>
          </div>
          <p id="search-hint" class="quiet">
            {text.searchHint}
          </p>
          <details class="filters" open={innerWidth > 760}>
            <summary>{text.filters}</summary>
            <Conditions />
          </details>
        </form>
      </search>
      <Results />
    </Screen>
  );
}

interface TextProps {
  label: string;
  name: 'from' | 'until' | 'metadata' | 'model' | 'label';
  type?: 'text' | 'date';
  hint?: string;
  list?: string;
}

function TextField({ label, name, type = 'text', hint, list }: TextProps) {
  return (
    <label class="field">
      {label}
      <input
        type={type}
        name={name}
        placeholder={hint}
        list={list}
        value={asked.value[name]}
        onInput={(event) => put({ [name]: event.currentTarget.value })}
      />
    </label>
  );
}

interface ChoiceProps {
  label: string;
  name: 'by' | 'sort' | 'role';
  options: readonly (readonly [string, string])[];
}

function ChoiceField({ label, name, options }: ChoiceProps) {
  return (
    <label class="field">
      {label}
      <select name={name} value={asked.value[name]} onChange={(event) => put({ [name]: event.currentTarget.value })}>
        {options.map(([value, shown]) => (
          <option key={value} value={value}>
            {shown}
          </option>
        ))}
      </select>
    </label>
  );
}

function Conditions() {
  const text = around.value;
  const isMessages = asked.value.text.trim() !== '';
  const orders: [string, string][] = isMessages
    ? [
        ['relevance', text.sortRelevance],
        ['created', text.sortCreated],
      ]
    : [
        ['updated', text.sortUpdated],
        ['created', text.sortCreated],
        ['name', text.sortName],
      ];
  const roles = ['user', 'assistant', 'system', 'tool'].map((role) => [role, roleName(role)] as const);
  return (
    <>
      <fieldset class="conditions">
        <legend>{words.value.conversations}</legend>
        <ChoiceField
          label={text.dates}
          name="by"
          options={[
            ['updated', text.updated],
            ['created', text.created],
          ]}
        />
        <TextField label={text.from} name="from" type="date" />
        <TextField label={text.until} name="until" type="date" />
        <TextField label={text.metadata} name="metadata" hint={text.metadataHint} />
        <ChoiceField label={text.sortBy} name="sort" options={[['', text.sortUsual], ...orders]} />
      </fieldset>
      <fieldset class="conditions" disabled={!isMessages}>
        <legend>{text.ofMessages}</legend>
        <ChoiceField label={text.role} name="role" options={[['', text.anyRole], ...roles]} />
        <TextField label={text.model} name="model" list="search-models" />
        <datalist id="search-models">
          {models.value.map((model) => (
            <option key={model.id} value={model.id} />
          ))}
        </datalist>
        <TextField label={text.label} name="label" />
        <p class="quiet">{text.ofMessagesNote}</p>
      </fieldset>
      <div class="form-foot">
        <button
          type="button"
          class="button"
          onClick={() => {
            asked.value = NOTHING;
            void searchNow();
          }}
        >
          {text.reset}
        </button>
      </div>
    </>
  );
}

function Results() {
  const text = around.value;
  const state = searchState.value;
  const all = found.value;
  const count = text.resultCount(all.length) + (next.value === null ? '' : ' +');
  return (
    <section class="results" aria-label={text.results}>
      <p class="quiet" role="status">
        {state === 'searching'
          ? text.searching
          : state === 'failed'
            ? problem.value
            : all.length > 0
              ? count
              : text.noResults}
        {state === 'ready' && compared.value > all.length && ` ${text.comparedCount(compared.value)}`}
      </p>
      <ol>
        {all.map((entry) => (
          <li key={keyOf(entry)}>
            {entry.kind === 'message' ? <MessageResult entry={entry} /> : <ListResult entry={entry} />}
          </li>
        ))}
      </ol>
      {next.value !== null && (
        <button type="button" class="button" disabled={state === 'searching'} onClick={() => void searchMore()}>
          {text.moreResults}
        </button>
      )}
    </section>
  );
}

function keyOf(entry: Found): string {
  return entry.kind === 'message' ? `${entry.hit.conversation}/${entry.hit.node}` : entry.conversation.id;
}

function MessageResult({ entry }: { entry: Found & { kind: 'message' } }) {
  const { hit, node } = entry;
  const conversation = conversations.value.find((other) => other.id === hit.conversation);
  const name = conversation ? titleOf(conversation) : '';
  const facts = [roleName(hit.role), name === '' ? words.value.untitled : plainName(name)];
  if (node?.reply) facts.push(shortModel(node.reply.model));
  if (node) facts.push(when(node.created_at));
  return (
    <a class="result" href={writeRoute({ screen: 'conversation', conversation: hit.conversation, node: hit.node })}>
      <span class="entry-facts">
        {facts.join(' · ')}
        {node?.label && <span class="chip label">{plainName(node.label)}</span>}
      </span>
      <span class="snippet" dir="auto">
        {highlighted(hit.snippet.text, hit.snippet.highlights).map((piece, index) =>
          piece.isHit ? <mark key={index}>{plainName(piece.text)}</mark> : plainName(piece.text),
        )}
      </span>
    </a>
  );
}

function ListResult({ entry }: { entry: Found & { kind: 'conversation' } }) {
  const { conversation } = entry;
  const name = titleOf(conversation);
  const others = Object.entries(conversation.metadata).filter(([key]) => key !== 'title');
  return (
    <a class="result" href={writeRoute({ screen: 'conversation', conversation: conversation.id, node: null })}>
      <span class="result-title" dir="auto">
        {name === '' ? words.value.untitled : plainName(name)}
      </span>
      <span class="entry-facts">
        {when(conversation.updated_at)} · {words.value.nodes(conversation.nodes)}
        {others.slice(0, 4).map(([key, value]) => (
          <span key={key} class="chip">
            {plainName(key)}={plainName(typeof value === 'number' ? number(value) : JSON.stringify(value).slice(0, 40))}
          </span>
        ))}
      </span>
    </a>
  );
}
