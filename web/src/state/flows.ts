// The server's flows, and the run that is shown.
import { signal } from '@preact/signals';
import { allFlows, answerFlow, beginFlow, flowRun, type Flow, type FlowAnswer, type FlowRun } from '../api/around';
import { client } from './connection';
import type { LoadState } from './library';
import { visit } from './route';
import { answering } from './server';
import { speak } from './notices';

export const flows = signal<readonly Flow[]>([]);
export const flowsState = signal<LoadState>('loading');
export const flowsError = signal('');
export const run = signal<FlowRun | null>(null);
export const runError = signal<string | null>(null);
export const isRunning = signal(false);

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export async function loadFlows(): Promise<void> {
  try {
    flows.value = await allFlows(client);
    flowsState.value = 'ready';
  } catch (error) {
    flowsError.value = textOf(error);
    flowsState.value = 'failed';
  }
}

async function doing(work: () => Promise<FlowRun>): Promise<FlowRun | null> {
  isRunning.value = true;
  runError.value = null;
  try {
    run.value = await work();
    return run.value;
  } catch (error) {
    runError.value = textOf(error);
    return null;
  } finally {
    isRunning.value = false;
  }
}

export async function showRun(name: string | null, id: string | null): Promise<void> {
  const present = run.value;
  if (present && present.id === id && present.flow === name) return;
  run.value = null;
  runError.value = null;
  if (name !== null && id !== null) await readRun(name, id);
}

export function readRun(name: string, id: string): Promise<FlowRun | null> {
  return doing(() => flowRun(client, name, id));
}

/** The model of a flow that asks one. */
function modelOf(flow: Flow): { model?: string } {
  const name = answering.value;
  return flow.asks_model && name !== null ? { model: name } : {};
}

/** Begins a flow in a conversation of its own. */
export async function begin(flow: Flow, variables: Record<string, unknown>): Promise<void> {
  const metadata = { title: flow.id };
  const begun = await doing(() => beginFlow(client, flow.id, { variables, metadata, ...modelOf(flow) }));
  if (!begun) return;
  visit({ screen: 'flows', subject: flow.id, node: begun.id });
  await whole(flow.id, begun.id);
}

/** Answers what a run waits for. */
export async function answer(flow: Flow, id: string, given: FlowAnswer): Promise<boolean> {
  const answered = await doing(() => answerFlow(client, flow.id, id, { ...given, ...modelOf(flow) }));
  if (!answered) return false;
  const said = answered.steps.at(-1)?.text;
  if (said) speak(said);
  await whole(flow.id, id);
  return true;
}

/** Reads all steps, of which an answer has only the new ones; why it stopped is kept. */
async function whole(name: string, id: string): Promise<void> {
  const progress = run.value?.progress ?? null;
  const all = await readRun(name, id);
  if (all) run.value = { ...all, progress };
}
