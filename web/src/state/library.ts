// The prompts of the server's library, and how they are sent.
import { signal } from '@preact/signals';
import { allPrompts, prompt as readPrompt, renderPrompt, type PromptInfo, type RenderedPrompt } from '../api/around';
import { client } from './connection';
import { putConversation } from './list';
import { fail } from './notices';
import { visit } from './route';
import { open, send } from './session';

export type LoadState = 'loading' | 'ready' | 'failed';

export const prompts = signal<readonly PromptInfo[]>([]);
export const promptsState = signal<LoadState>('loading');
export const promptsError = signal('');
/** The prompt that is shown, in the version that is shown. */
export const shownPrompt = signal<PromptInfo | null>(null);
export const rendered = signal<RenderedPrompt | null>(null);
export const renderError = signal<string | null>(null);

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export async function loadPrompts(): Promise<void> {
  try {
    prompts.value = await allPrompts(client);
    promptsState.value = 'ready';
  } catch (error) {
    promptsError.value = textOf(error);
    promptsState.value = 'failed';
  }
}

/** The name of a prompt without its version. */
export function withoutVersion(id: string): string {
  return id.replace(/@[^@/]*$/, '');
}

/** The versions of a prompt that the library lists, the newest first. */
export function versionsOf(all: readonly PromptInfo[], id: string): PromptInfo[] {
  const same = all.filter((entry) => withoutVersion(entry.id) === withoutVersion(id));
  const compare = (a: string, b: string) => b.localeCompare(a, undefined, { numeric: true });
  return same.sort((a, b) => compare(a.version ?? '', b.version ?? ''));
}

/** What a version of a prompt is called in requests. */
export function nameOf(info: PromptInfo): string {
  return info.version === null ? withoutVersion(info.id) : `${withoutVersion(info.id)}@${info.version}`;
}

export async function showPrompt(id: string | null): Promise<void> {
  rendered.value = null;
  renderError.value = null;
  shownPrompt.value = null;
  if (id === null) return;
  try {
    shownPrompt.value = await readPrompt(client, id);
  } catch (error) {
    renderError.value = textOf(error);
  }
}

/** Fills the prompt that is shown in. */
export async function render(values: Record<string, unknown>): Promise<void> {
  const info = shownPrompt.value;
  if (!info) return;
  try {
    rendered.value = await renderPrompt(client, nameOf(info), values);
    renderError.value = null;
  } catch (error) {
    rendered.value = null;
    renderError.value = textOf(error);
  }
}

/** Sends the prompt that is shown: in the open conversation, or in a new one, which a system prompt always begins. */
export async function sendPrompt(values: Record<string, unknown>, isNew: boolean): Promise<void> {
  const info = shownPrompt.value;
  if (!info) return;
  const prompt = { name: nameOf(info), values };
  try {
    if (info.kind === 'system') {
      const conversation = await client.create({ prompt, metadata: { title: info.name } });
      putConversation(conversation);
      visit({ conversation: conversation.id });
      return;
    }
    const filled = await renderPrompt(client, prompt.name, values);
    const text = filled.messages.map((message) => message.content).join('\n\n');
    const id = open.value?.id ?? null;
    if (isNew || id === null) {
      open.value?.close();
      open.value = null;
    } else {
      visit({ conversation: id });
    }
    await send(text, { prompt });
  } catch (error) {
    fail(error);
  }
}
