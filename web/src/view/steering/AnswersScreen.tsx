// Several answers to a question side by side: written at once, and one of them is kept.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Node } from '../../api/types';
import { isText } from '../../keys/dispatch';
import { actionOf } from '../../keys/screens';
import { words } from '../../language';
import { answerAgain, answerAll, isFor, origins, plans, stopAnswers } from '../../state/answers';
import type { OpenConversation } from '../../state/open';
import { route } from '../../state/route';
import { prune } from '../../state/session';
import { showLine } from '../../state/steering';
import { drop, running, stop, turnsOf, type RunningTurn } from '../../state/turns';
import { answerFrom, questionOf } from '../../tree/forks';
import { Icon } from '../Icon';
import { Folded, PartView } from '../Message';
import { shortModel, writer } from '../roles';
import { Text } from '../Text';
import { Frame } from './Frame';
import { Plans } from './Plans';

/** How many columns are drawn. */
const MOST_COLUMNS = 24;

interface Column {
  key: string;
  /** The stored messages of the answer. */
  nodes: readonly Node[];
  /** The turn that writes more of it. */
  turn: RunningTurn | null;
  order: number;
  sampling: Record<string, unknown>;
}

/** The answers to a question: those that were there, then those of this window in the order they were asked for. */
function columnsOf(present: OpenConversation, question: string): Column[] {
  const turns = turnsOf(present.id).filter((turn) => isFor(turn, question));
  const columns: Column[] = [];
  for (const id of present.tree.children(question)) {
    const nodes = answerFrom(present.tree, id);
    if (nodes.length === 0) continue;
    const origin = origins.get(id);
    const turn = turns.find((entry) => nodes.some((node) => node.id === entry.anchor.value)) ?? null;
    const key = origin === undefined ? id : `turn-${origin.key}`;
    columns.push({ key, nodes, turn, order: origin?.key ?? 0, sampling: origin?.sampling ?? {} });
  }
  for (const turn of turns) {
    if (turn.anchor.value !== question) continue;
    const sampling = turn.request.sampling ?? {};
    columns.push({ key: `turn-${turn.key}`, nodes: [], turn, order: turn.key, sampling });
  }
  return columns.sort((a, b) => a.order - b.order);
}

export function AnswersScreen() {
  return (
    <Frame name={words.value.answersTitle} class="answers-screen">
      {(present) => {
        void present.version.value;
        const id = route.value.node;
        const question = id === null ? undefined : questionOf(present.tree, id);
        return question ? (
          <Answers key={question.id} present={present} question={question} />
        ) : (
          <p class="quiet padded">{words.value.compareNothing}</p>
        );
      }}
    </Frame>
  );
}

function keep(present: OpenConversation, column: Column | undefined): void {
  const first = column?.nodes[0];
  if (!first) return;
  present.goTo(first.id);
  showLine(first.id);
}

function Answers({ present, question }: { present: OpenConversation; question: Node }) {
  void running.value;
  const text = words.value;
  const chosen = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const ask = useRef<HTMLButtonElement>(null);
  const all = columnsOf(present, question.id);
  const columns = all.slice(-MOST_COLUMNS);
  const isRunning = columns.some((column) => column.turn !== null && column.turn.state.value !== 'failed');
  const at = Math.min(chosen.value, Math.max(0, columns.length - 1));

  const focus = (index: number) => {
    chosen.value = Math.max(0, Math.min(columns.length - 1, index));
    requestAnimationFrame(() => {
      list.current?.querySelectorAll<HTMLElement>('.answer')[chosen.value]?.focus();
    });
  };
  useEffect(() => ask.current?.focus(), []);

  const onKeyDown = (event: KeyboardEvent) => {
    if (isText(event.target)) return;
    const action = actionOf('answers', event);
    if (action === null) return;
    const column = columns[at];
    const isColumn = event.target instanceof Element && event.target.matches('.answer');
    const places: Record<string, number> = { next: at + 1, previous: at - 1, first: 0, last: columns.length - 1 };
    const place = action === 'number' ? Number(event.key) - 1 : places[action];
    if (place !== undefined) focus(place);
    else if (action === 'keep' && isColumn) keep(present, column);
    else if (action === 'stop' && column?.turn) stop(column.turn);
    else if (action === 'remove' && column?.nodes[0]) prune(column.nodes[0].id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="answers" onKeyDown={onKeyDown}>
      <div class="answers-head">
        <p class="answers-question" dir="auto">
          <span class="quiet">{text.answersTo} </span>
          {question.text}
        </p>
        <Plans>
          <div class="answers-tools">
            <button
              ref={ask}
              type="button"
              class="button primary"
              disabled={isRunning}
              onClick={() => {
                const before = columns.length;
                answerAll(question.id);
                chosen.value = before;
                requestAnimationFrame(() => {
                  list.current?.querySelectorAll<HTMLElement>('.answer')[before]?.focus();
                });
              }}
            >
              {text.answerAll(plans.value.length)}
            </button>
            {isRunning && (
              <button type="button" class="button" onClick={() => stopAnswers(question.id)}>
                <Icon name="stop" />
                {text.stopAnswers}
              </button>
            )}
            {all.length > columns.length && <span class="quiet">{text.answersMore(all.length - columns.length)}</span>}
          </div>
        </Plans>
      </div>
      {columns.length === 0 && <p class="quiet padded">{text.answersEmpty}</p>}
      <div
        ref={list}
        class="answer-columns"
        role="group"
        aria-label={text.answersTitle}
        aria-describedby="answers-help"
      >
        {columns.map((column, index) => (
          <Answer
            key={column.key}
            column={column}
            index={index}
            count={columns.length}
            isChosen={index === at}
            onChoose={() => {
              chosen.value = index;
            }}
            onKeep={() => keep(present, column)}
            onAgain={() => column.turn && answerAgain(column.turn, question.id)}
          />
        ))}
      </div>
      <p id="answers-help" class="quiet answers-help">
        {text.answersHelp}
      </p>
    </div>
  );
}

interface AnswerProps {
  column: Column;
  index: number;
  count: number;
  isChosen: boolean;
  onChoose: () => void;
  onKeep: () => void;
  onAgain: () => void;
}

function Answer({ column, index, count, isChosen, onChoose, onKeep, onAgain }: AnswerProps) {
  const text = words.value;
  const { nodes, turn } = column;
  const [first] = nodes;
  const model = first ? writer(first) : turn?.model.value ? shortModel(turn.model.value) : text.model;
  const { sampling } = column;
  const isLast = turn === null && nodes.length > 0;
  return (
    <article
      class="answer"
      tabIndex={isChosen ? 0 : -1}
      data-chosen={isChosen}
      aria-label={text.answerOf(index + 1, count, model)}
      aria-busy={turn !== null && turn.state.value !== 'failed'}
      onFocus={onChoose}
    >
      <header class="answer-head">
        <kbd>{index + 1}</kbd>
        <span class="writer">{model}</span>
        {Object.entries(sampling).map(([name, value]) => (
          <span key={name} class="chip">{`${name} ${String(value)}`}</span>
        ))}
        {first && first.status !== 'complete' && <span class="chip warn">{text.interrupted}</span>}
      </header>
      <div class="answer-body">
        {nodes.map((node) =>
          node.parts.map((part, at) => <PartView key={`${node.id} ${at}`} node={node.id} part={part} isFormatted />),
        )}
        {turn && <Written turn={turn} onAgain={onAgain} />}
      </div>
      <footer class="answer-foot">
        {isLast && (
          <button type="button" class="button" onClick={onKeep}>
            <Icon name="check" />
            {text.keepAnswer}
          </button>
        )}
        {turn && turn.state.value !== 'failed' && (
          <button type="button" class="button" disabled={turn.state.value === 'stopping'} onClick={() => stop(turn)}>
            <Icon name="stop" />
            {text.stop}
          </button>
        )}
      </footer>
    </article>
  );
}

function Written({ turn, onAgain }: { turn: RunningTurn; onAgain: () => void }) {
  void turn.version.value;
  const text = words.value;
  const isFailed = turn.state.value === 'failed';
  if (isFailed) {
    return (
      <div class="failure" role="alert">
        <p>
          <strong>{text.failed}</strong> {turn.error.value}
        </p>
        <button type="button" class="button" onClick={onAgain}>
          {text.tryAgain}
        </button>
        <button type="button" class="button" onClick={() => drop(turn)}>
          {text.dismiss}
        </button>
      </div>
    );
  }
  return (
    <>
      {turn.thinking !== '' && <Folded title={text.thinking} text={turn.thinking} />}
      {turn.text !== '' && <Text text={turn.text} isGrowing />}
      {turn.text === '' && (
        <p class="waiting">
          <span class="pulse" aria-hidden="true" />
          {text.waiting}
        </p>
      )}
    </>
  );
}
