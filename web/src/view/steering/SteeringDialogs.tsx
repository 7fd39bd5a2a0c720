// The dialogs of steering: a reply that a person writes, scores of texts, a merge, and what was removed.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Merge, Node, Scores } from '../../api/types';
import { number, when, words } from '../../language';
import { conversations, titleOf } from '../../state/list';
import { forget, openAsCopy, putBack, removed } from '../../state/removed';
import { open } from '../../state/session';
import { beginReply, copiesFirst, dialog, mergeFrom, placeOfReply, score, writeReply } from '../../state/steering';
import { summary } from '../../text/plain';
import { IconButton } from '../Button';
import { Dialog } from '../Dialog';
import { fit } from '../fit';
import { shortModel } from '../roles';

const SEPARATOR = '---';

function close(): void {
  dialog.value = null;
}

export function SteeringDialogs() {
  const asked = dialog.value;
  const present = open.value;
  if (!asked || !present) return null;
  const node = asked.node === null ? undefined : present.tree.get(asked.node);
  if (asked.kind === 'merge') return <MergeDialog />;
  if (asked.kind === 'removed') return <RemovedDialog />;
  if (!node) return null;
  return asked.kind === 'write' ? <WriteDialog node={node} /> : <ScoreDialog node={node} />;
}

/** The stored versions of a reply at a place. */
function versionsAt(place: string | null): string[] {
  const present = open.value;
  if (!present) return [];
  const texts = present.tree.children(place).map((id) => present.tree.get(id));
  const replies = texts.filter((node) => node?.role === 'assistant' && node.text !== '');
  return [...new Set(replies.map((node) => node?.text ?? ''))];
}

function WriteDialog({ node }: { node: Node }) {
  const text = words.value;
  const value = useSignal(node.role === 'assistant' ? node.text : '');
  const area = useRef<HTMLTextAreaElement>(null);
  const place = placeOfReply(node);
  useEffect(() => {
    // Once the dialog is open, and so has a size.
    requestAnimationFrame(() => {
      if (area.current) fit(area.current, 360);
    });
  }, []);
  const store = () => {
    if (value.value.trim() === '') return;
    close();
    void writeReply(place, value.value);
  };
  const begin = () => {
    if (value.value.trim() === '') return;
    close();
    beginReply(place, value.value);
  };
  return (
    <Dialog hasField title={text.writeReply} class="large" onClose={close}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          store();
        }}
      >
        <p class="quiet">{text.writeNote}</p>
        <label>
          {text.writeLabel}
          <textarea
            ref={area}
            autoFocus
            class="field"
            dir="auto"
            rows={4}
            value={value.value}
            onInput={(event) => {
              value.value = event.currentTarget.value;
              fit(event.currentTarget, 360);
            }}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              if (event.shiftKey) begin();
              else store();
            }}
          />
        </label>
        <div class="form-foot">
          <button type="button" class="button" onClick={close}>
            {text.cancel}
          </button>
          <button type="button" class="button" disabled={value.value.trim() === ''} onClick={begin}>
            {text.writeBegin}
          </button>
          <button type="submit" class="button primary" disabled={value.value.trim() === ''}>
            {text.writeKeep}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The texts of a field, which lines with three hyphens divide. */
function textsOf(value: string): string[] {
  const texts = value.split(new RegExp(`^${SEPARATOR}[ \\t]*$`, 'm')).map((text) => text.replace(/^\n|\n$/g, ''));
  return texts.filter((text) => text !== '');
}

function ScoreDialog({ node }: { node: Node }) {
  const text = words.value;
  const place = placeOfReply(node);
  const stored = versionsAt(place);
  const value = useSignal('');
  const withStored = useSignal(stored.length > 0);
  const found = useSignal<Scores | null>(null);
  const error = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const run = async () => {
    const texts = [...new Set([...(withStored.value ? stored : []), ...textsOf(value.value)])];
    error.value = texts.length === 0 ? text.scoreNone : null;
    if (texts.length === 0 || isBusy.value) return;
    isBusy.value = true;
    try {
      found.value = await score(place, texts);
    } catch (why) {
      error.value = why instanceof Error ? why.message : String(why);
    }
    isBusy.value = false;
  };
  return (
    <Dialog hasField title={text.score} class="large" onClose={close}>
      <form
        class="form"
        aria-busy={isBusy.value}
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <p class="quiet">{text.scoreNote}</p>
        {stored.length > 0 && (
          <label class="check">
            <input
              type="checkbox"
              checked={withStored.value}
              onChange={(event) => (withStored.value = event.currentTarget.checked)}
            />
            {text.scoreStored} ({number(stored.length)})
          </label>
        )}
        <label>
          {text.scoreTexts}
          <textarea
            class="field"
            dir="auto"
            rows={4}
            autoFocus
            value={value.value}
            onInput={(event) => (value.value = event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              void run();
            }}
          />
        </label>
        {error.value !== null && (
          <p class="failure" role="alert">
            {error.value}
          </p>
        )}
        <div class="form-foot">
          <button type="button" class="button" onClick={close}>
            {text.close}
          </button>
          <button type="submit" class="button primary" disabled={isBusy.value}>
            {text.scoreRun}
          </button>
        </div>
      </form>
      {found.value && <ScoreTable scores={found.value} />}
    </Dialog>
  );
}

/** The scores, the most likely text first, with the share of each among them. */
function ScoreTable({ scores }: { scores: Scores }) {
  const text = words.value;
  const best = Math.max(...scores.scores.map((entry) => entry.total));
  const sum = scores.scores.reduce((all, entry) => all + Math.exp(entry.total - best), 0);
  const rows = scores.scores
    .map((entry) => ({ ...entry, share: Math.exp(entry.total - best) / sum }))
    .sort((a, b) => b.total - a.total);
  return (
    <table class="scores" aria-live="polite">
      <caption class="quiet">{text.scoreWith(shortModel(scores.model))}</caption>
      <thead>
        <tr>
          <th scope="col">{text.scoreText}</th>
          <th scope="col">{text.scoreShare}</th>
          <th scope="col">{text.scoreTotal}</th>
          <th scope="col">{text.scoreMean}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            <td dir="auto">{summary(row.text, 160)}</td>
            <td>
              <span class="share">
                <span class="share-bar" style={{ width: `${Math.round(row.share * 100)}%` }} />
              </span>
              {number(Math.round(row.share * 1000) / 10)} %
            </td>
            <td>{number(Math.round(row.total * 100) / 100)}</td>
            <td>{row.mean === null ? '–' : number(Math.round(row.mean * 100) / 100)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function MergeDialog() {
  const text = words.value;
  const others = copiesFirst(conversations.value, open.value?.id ?? '');
  const from = useSignal(others[0]?.id ?? '');
  const merged = useSignal<Merge | null>(null);
  const isBusy = useSignal(false);
  const report = merged.value;
  return (
    <Dialog hasField title={text.merge} onClose={close}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          isBusy.value = true;
          void mergeFrom(from.value).then((found) => {
            merged.value = found;
            isBusy.value = false;
          });
        }}
      >
        <p class="quiet">{text.mergeNote}</p>
        {others.length === 0 && <p>{text.mergeNone}</p>}
        {others.length > 0 && (
          <label>
            {text.mergeFrom}
            <select autoFocus value={from.value} onChange={(event) => (from.value = event.currentTarget.value)}>
              {others.map((other) => (
                <option key={other.id} value={other.id}>
                  {`${titleOf(other) || text.untitled} – ${text.nodes(other.nodes)}, ${when(other.updated_at)}`}
                </option>
              ))}
            </select>
          </label>
        )}
        {report && (
          <div class="merged" role="status">
            <p>{text.mergeAdded(report.added.length)}</p>
            {report.pruned.length > 0 && <p>{text.mergePruned(report.pruned.length)}</p>}
            {report.pruned_here.length > 0 && <p>{text.mergePrunedHere(report.pruned_here.length)}</p>}
            {report.held.length > 0 && <p>{text.mergeHeld(report.held.length)}</p>}
          </div>
        )}
        <div class="form-foot">
          <button type="button" class="button" onClick={close}>
            {report ? text.close : text.cancel}
          </button>
          <button type="submit" class="button primary" disabled={isBusy.value || from.value === ''}>
            {text.mergeRun}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function RemovedDialog() {
  const text = words.value;
  const present = open.value;
  const entries = removed.value.filter((entry) => entry.conversation === present?.id);
  return (
    <Dialog title={text.removedBranches} class="large" onClose={close}>
      <p class="quiet">{entries.length === 0 ? text.removedNone : text.removedNote}</p>
      <ul class="removed">
        {entries.map((entry) => (
          <li key={entry.key}>
            <div class="removed-text">
              <strong dir="auto">{summary(entry.nodes[0]?.text ?? '', 100) || '…'}</strong>
              <span class="quiet">{text.removedEntry(entry.nodes.length, when(entry.at / 1000))}</span>
            </div>
            <button
              type="button"
              class="button"
              onClick={() => {
                close();
                if (present) void putBack(present, entry);
              }}
            >
              {text.putBackButton}
            </button>
            {entry.document !== null && (
              <button
                type="button"
                class="button"
                onClick={() => {
                  close();
                  void openAsCopy(entry);
                }}
              >
                {text.openCopy}
              </button>
            )}
            <IconButton icon="trash" label={text.dismiss} onClick={() => forget(entry.key)} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
