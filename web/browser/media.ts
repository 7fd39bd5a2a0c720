// Images and audio for tests: given as a person gives them, to a model that takes them.
import type { Locator, Page } from 'playwright-core';
import type { About } from '../src/api/around';

/** An image of one point, in base64. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** What a server with a model says that takes images and audio. */
export const ABOUT: About = {
  name: 'Alloquy',
  version: '0',
  models: [
    {
      id: 'scripted',
      aliases: [],
      loaded: true,
      context_length: 4096,
      capabilities: {
        text: true,
        image: true,
        audio: true,
        video: false,
        logprobs: false,
        score: false,
        tools: true,
        prompt: false,
        prefix: false,
      },
    },
  ],
  embeddings: [],
  rerankers: [],
  prompts: false,
  flows: false,
  keys: false,
};

/** Drops or pastes files on an element, as a person does. */
export async function give(
  target: Locator,
  kind: 'drop' | 'paste',
  name: string,
  type: string,
  base64: string,
): Promise<void> {
  await target.evaluate(
    (element, given) => {
      const bytes = Uint8Array.from(atob(given.base64), (letter) => letter.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], given.name, { type: given.type }));
      const shared = { bubbles: true, cancelable: true };
      if (given.kind === 'paste') {
        element.dispatchEvent(new ClipboardEvent('paste', { ...shared, clipboardData: data }));
        return;
      }
      for (const step of ['dragenter', 'dragover', 'drop'])
        element.dispatchEvent(new DragEvent(step, { ...shared, dataTransfer: data }));
    },
    { kind, name, type, base64 },
  );
}

/** Has a page whose model takes images and audio, and a microphone that hears a tone. It has to be loaded again. */
export async function hearing(page: Page): Promise<void> {
  await page.route('**/v1/alloquy/page', (route) => route.fulfill({ json: ABOUT }));
  await page.addInitScript(() => {
    // A microphone: a tone.
    navigator.mediaDevices.getUserMedia = () => {
      const context = new AudioContext();
      const tone = new OscillatorNode(context);
      const end = context.createMediaStreamDestination();
      tone.connect(end);
      tone.start();
      return Promise.resolve(end.stream);
    };
  });
}
