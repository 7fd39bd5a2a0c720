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
/** Why a run was not begun, or an answer not taken. */
export const runError = signal<string | null>(null);
/** Why a run was not read. */
export const readError = signal<string | null>(null);
/** Whether a run is begun or answered at present. */
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

/** Counts what was begun that sets the run: an older reading that ends late is dropped. */
let latest = 0;

async function doing(work: () => Promise<FlowRun>): Promise<FlowRun | null> {
  latest += 1;
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
  readError.value = null;
  if (name !== null && id !== null) await readRun(name, id);
}

/** Reads a run with all its steps. An answer may be given meanwhile, and comes before what was read. */
export async function readRun(name: string, id: string): Promise<void> {
  latest += 1;
  const own = latest;
  try {
    const read = await flowRun(client, name, id);
    if (own !== latest) return;
    // Only the answer to a request says why a run stopped; it holds for as long as no step is added.
    const known = run.value?.id === id && run.value.step === read.step ? run.value.progress : null;
    run.value = { ...read, progress: read.progress ?? known };
    readError.value = null;
  } catch (error) {
    if (own === latest) readError.value = textOf(error);
  }
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
  await readRun(flow.id, begun.id);
}

/** Answers what a run waits for. */
export async function answer(flow: Flow, id: string, given: FlowAnswer): Promise<boolean> {
  const answered = await doing(() => answerFlow(client, flow.id, id, { ...given, ...modelOf(flow) }));
  if (!answered) return false;
  const said = answered.steps.at(-1)?.text;
  if (said) speak(said);
  // An answer has only the steps that are new.
  await readRun(flow.id, id);
  return true;
}
