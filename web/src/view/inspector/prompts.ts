// The prompts that were shown, the last ones of them.
import { useEffect, useState } from 'preact/hooks';
import type { PromptObject } from '../../api/inspecting';
import { client } from '../../state/connection';
import { open } from '../../state/session';

export interface Asked {
  prompt: PromptObject | null;
  error: string | null;
}

const LAST = 4;
const kept = new Map<string, PromptObject>();

function keep(name: string, prompt: PromptObject): void {
  kept.delete(name);
  kept.set(name, prompt);
  const oldest = kept.keys().next().value;
  if (kept.size > LAST && oldest !== undefined) kept.delete(oldest);
}

/** Returns the prompt of a message of the open conversation, once the server has said it. */
export function usePrompt(node: string | null): Asked {
  const conversation = open.value?.id ?? null;
  const name = conversation === null || node === null ? null : `${conversation}/${node}`;
  const [, draw] = useState(0);
  const [failed, setFailed] = useState<{ name: string; error: string } | null>(null);
  useEffect(() => {
    if (name === null || conversation === null || node === null || kept.has(name)) return undefined;
    const abort = new AbortController();
    client.prompt(conversation, node, abort.signal).then(
      (prompt) => {
        keep(name, prompt);
        draw((count) => count + 1);
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setFailed({ name, error: error instanceof Error ? error.message : String(error) });
      },
    );
    return () => abort.abort();
  }, [name]);
  const prompt = name === null ? null : (kept.get(name) ?? null);
  return { prompt, error: prompt === null && failed?.name === name ? failed.error : null };
}
