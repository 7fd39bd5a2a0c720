// Turns that run in this window.
import { signal, type Signal } from '@preact/signals';
import type { Client, TurnEvent } from '../api/client';
import type { NewTurn, Node } from '../api/types';
import { oncePerFrame } from './frame';
import { Sentences } from './sentences';

export type TurnState = 'waiting' | 'writing' | 'stopping' | 'failed';

/** A turn that runs: what it follows, and what was written so far. */
export class RunningTurn {
  readonly key: number;
  readonly state = signal<TurnState>('waiting');
  /** Grows when there is more text to be drawn. */
  readonly version = signal(0);
  readonly model = signal<string | null>(null);
  /** What is sent, until the server has stored it. */
  readonly asked = signal<string | null>(null);
  readonly calls = signal<readonly unknown[]>([]);
  readonly error = signal<string | null>(null);
  readonly abort = new AbortController();
  readonly begun = Date.now();
  text = '';
  thinking = '';

  constructor(
    key: number,
    readonly conversation: string,
    /** The node that the next stored node follows. */
    readonly anchor: Signal<string | null>,
    readonly request: NewTurn,
  ) {
    this.key = key;
  }
}

export interface Listeners {
  /** A node was stored. */
  node: (turn: RunningTurn, node: Node) => void;
  /** The turn has ended, well or not. */
  end: (turn: RunningTurn) => void;
  /** A whole sentence was written. */
  sentence: (sentence: string) => void;
}

/** Sees every event of a turn of this window. */
export type Observer = (turn: RunningTurn, event: TurnEvent) => void;

export const observers = new Set<Observer>();
export const running = signal<readonly RunningTurn[]>([]);
let last = 0;

export function turnsAt(conversation: string, anchor: string | null): RunningTurn[] {
  return running.value.filter((turn) => turn.conversation === conversation && turn.anchor.value === anchor);
}

export function turnsOf(conversation: string): RunningTurn[] {
  return running.value.filter((turn) => turn.conversation === conversation);
}

export function drop(turn: RunningTurn): void {
  running.value = running.value.filter((other) => other !== turn);
}

/** Ends a turn. What was written is kept: the server stores it. */
export function stop(turn: RunningTurn): void {
  if (turn.state.value === 'failed') {
    drop(turn);
    return;
  }
  turn.state.value = 'stopping';
  turn.abort.abort();
}

/** Starts a turn. `asked` is the text that is sent with it. */
export function start(
  client: Client,
  conversation: string,
  anchor: string | null,
  asked: string | null,
  request: NewTurn,
  listeners: Listeners,
): RunningTurn {
  last += 1;
  const turn = new RunningTurn(last, conversation, signal(anchor), request);
  turn.asked.value = asked;
  running.value = [...running.value, turn];
  void run(client, turn, listeners);
  return turn;
}

async function run(client: Client, turn: RunningTurn, listeners: Listeners): Promise<void> {
  const sentences = new Sentences();
  const draw = oncePerFrame(() => {
    turn.version.value += 1;
    const sentence = sentences.next(turn.text, false);
    if (sentence) listeners.sentence(sentence);
  });
  try {
    for await (const event of client.turn(turn.conversation, turn.request, turn.abort.signal)) {
      for (const observe of observers) observe(turn, event);
      switch (event.kind) {
        case 'started':
          turn.model.value = event.model;
          break;
        case 'text':
          turn.state.value = 'writing';
          turn.text += event.text;
          draw();
          break;
        case 'thinking':
          turn.state.value = 'writing';
          turn.thinking += event.text;
          draw();
          break;
        case 'call':
          turn.calls.value = [...turn.calls.value, event.value];
          break;
        case 'node':
          if (event.node.role === 'assistant') {
            const rest = sentences.next(turn.text, true);
            if (rest) listeners.sentence(rest);
          }
          stored(turn, event.node);
          listeners.node(turn, event.node);
          break;
        case 'channel':
        case 'result':
        case 'finished':
          break;
      }
    }
    listeners.end(turn);
    drop(turn);
  } catch (error) {
    if (turn.abort.signal.aborted) {
      // What was written is stored by the server, and comes as an event.
      listeners.end(turn);
      return;
    }
    turn.state.value = 'failed';
    turn.error.value = error instanceof Error ? error.message : String(error);
    listeners.end(turn);
  }
}

/** Takes what is stored now out of what is being written. */
function stored(turn: RunningTurn, node: Node): void {
  if (node.role === 'user') {
    turn.asked.value = null;
  } else {
    turn.text = '';
    turn.thinking = '';
    turn.calls.value = [];
    turn.version.value += 1;
  }
  turn.anchor.value = node.id;
}
