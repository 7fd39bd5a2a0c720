// What is around conversations, in a browser: search, import, media, calls, models and usage; with the mouse and the keyboard.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { UsageReport } from '../src/api/around';
import type { Conversation, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { ABOUT, PIXEL, give, hearing } from './media';
import { scriptedModel, type ScriptedModel } from './model';
import { sample } from './sample';

const FORMATS = ['alloquy', 'markdown', 'openai', 'chatml', 'dataknobs'];

describe.skipIf(missing() !== null)('around conversations', () => {
  let model: ScriptedModel;
  let served: Served;
  let watched: Watched | undefined;
  let page: Page;
  let tea: string;

  beforeAll(async () => {
    model = await scriptedModel();
    served = await serve(model.args);
    tea = await sample(served);
    await served.api('POST', `v1/alloquy/conversations/${tea}`, { metadata: { topic: 'tea', year: 2026 } });
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await closeBrowser();
  });
  beforeEach(async () => {
    await watched?.context.close();
    model.reply(() => 'I see.');
    watched = await openPage(served.url);
    page = watched.page;
    await page.locator('.entry').first().waitFor();
    const { problems } = watched;
    return () => expect(problems.filter((text) => !text.includes('status of 404'))).toEqual([]);
  });

  const idOf = () => decodeURIComponent(/#\/c\/([^/]+)/.exec(page.url())?.[1] ?? '');
  const tree = (id = idOf()) => served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);

  async function show(hash: string): Promise<void> {
    await page.evaluate((to) => (location.hash = to), hash);
  }

  describe('search', () => {
    it('finds messages by words, role and label, and opens one on its branch, with the mouse', async () => {
      await page.getByRole('link', { name: 'Search with conditions' }).click();
      await page.getByRole('searchbox', { name: 'Words' }).fill('milk');
      await page.locator('.search-words').getByRole('button', { name: 'Search' }).click();
      await page.locator('.result mark').first().waitFor();
      const all = await page.locator('.result').count();
      await page.selectOption('select[name=role]', 'assistant');
      await page.locator('.search-words').getByRole('button').click();
      await expect.poll(() => page.locator('.result').count()).toBeLessThan(all);
      const texts = await page.locator('.result .snippet').allInnerTexts();
      expect(texts.sort()).toEqual(['Milk goes in first, say some.', 'Only black tea, and the milk last.']);
      await page.fill('input[name=label]', 'milk');
      await page.locator('.search-words').getByRole('button').click();
      await expect.poll(() => page.locator('.result').count()).toBe(1);
      expect(await page.locator('.result .chip.label').innerText()).toBe('milk');
      await page.fill('input[name=label]', '');
      await page.locator('.search-words').getByRole('button').click();
      await page.locator('.result', { hasText: 'goes in first' }).click();
      await page.locator('.message[data-focused=true]', { hasText: 'goes in first' }).waitFor();
    });

    it('lists conversations by metadata and days, with the keyboard', async () => {
      await page.keyboard.press('S');
      await page.locator('.search-words input:focus').waitFor();
      await page.locator('.result').first().waitFor();
      await page.locator('input[name=metadata]').focus();
      await page.keyboard.type('topic=tea, year=2026');
      await page.keyboard.press('Enter');
      await expect.poll(() => page.locator('.result').count()).toBe(1);
      await page.locator('input[name=until]').focus();
      await page.locator('input[name=until]').fill('2001-01-01');
      await page.keyboard.press('Enter');
      await page.getByText('Nothing fits.').waitFor();
      await page.locator('input[name=until]').fill('');
      await page.keyboard.press('Enter');
      await page.locator('.result').first().focus();
      await page.keyboard.press('Enter');
      await page.locator('.message').first().waitFor();
      expect(idOf()).toBe(tea);
    });

    it('says what is wrong', async () => {
      await page.keyboard.press('S');
      await page.locator('.search-words input:focus').waitFor();
      await page.keyboard.type('"open');
      await page.keyboard.press('Enter');
      const status = page.locator('.results [role=status]');
      await expect.poll(() => status.innerText()).not.toBe('Searching …');
      expect((await status.innerText()).length).toBeGreaterThan(5);
      watched?.problems.splice(0);
    });
  });

  describe('documents', () => {
    it.each(FORMATS)('are exported as %s by a menu, and imported again by a button', async (format) => {
      const copy = await sample(served);
      await show(`#/c/${copy}`);
      await page.locator('.message').first().waitFor();
      await page.locator('.conversation .bar').getByRole('button', { name: 'Actions of the conversation' }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: `Export as ${format}` }).click(),
      ]);
      const file = await download.path();
      const choose = async () => {
        await page.locator('.import-files').setInputFiles(file);
        const outcome = page.locator('.imported li').last();
        await outcome.locator('a, .field-problem').first().waitFor();
        return outcome;
      };
      await page.locator('.places').getByRole('button', { name: 'Import conversations' }).click();
      if (['alloquy', 'dataknobs'].includes(format)) {
        // The document has an id, under which there is a conversation.
        expect(await (await choose()).innerText()).toContain('exists already');
        await served.api('DELETE', `v1/alloquy/conversations/${copy}`);
      }
      const count = await page.locator('.imported li').count();
      await page.locator('.import-files').setInputFiles(file);
      const link = page.locator('.imported li').nth(count).locator('a');
      await link.click();
      await page.locator('.message', { hasText: 'How hot should the water be?' }).waitFor();
      const id = idOf();
      expect((await tree(id)).nodes.length).toBeGreaterThan(3);
      await served.api('DELETE', `v1/alloquy/conversations/${id}`);
      if (id !== copy) await served.api('DELETE', `v1/alloquy/conversations/${copy}`);
    });

    it('are imported by drop, and what is none is refused', async () => {
      const document = JSON.stringify({ messages: [{ role: 'user', content: 'Dropped' }] });
      await give(page.locator('main'), 'drop', 'chat.json', 'application/json', btoa(document));
      await page.locator('.imported a', { hasText: '1 message' }).click();
      await page.locator('.message', { hasText: 'Dropped' }).waitFor();
      await give(page.locator('main'), 'drop', 'note.txt', 'text/plain', btoa('Dear diary'));
      await page.locator('.imported .field-problem', { hasText: 'no known format' }).waitFor();
      watched?.problems.splice(0);
    });

    it('are imported with the keyboard', async () => {
      await page.keyboard.press('Alt+i');
      const [chooser] = await Promise.all([
        page.waitForEvent('filechooser'),
        (async () => {
          await page.getByRole('button', { name: 'Choose files' }).focus();
          await page.keyboard.press('Enter');
        })(),
      ]);
      const buffer = Buffer.from('<|im_start|>user\nTyped<|im_end|>\n');
      await chooser.setFiles({ name: 'chat.txt', mimeType: 'text/plain', buffer });
      await page.locator('.imported a').waitFor();
      await page.locator('.imported a').focus();
      await page.keyboard.press('Enter');
      await page.locator('.message', { hasText: 'Typed' }).waitFor();
    });
  });

  describe('images and audio', () => {
    beforeEach(async () => {
      await hearing(page);
      await page.reload();
      await page.selectOption('.model-choice', 'scripted');
      await page.getByRole('button', { name: 'Record with the microphone' }).waitFor();
    });

    it('are pasted, dropped and chosen, sent, and shown in the line', async () => {
      await give(page.locator('#composer'), 'paste', 'pasted.png', 'image/png', PIXEL);
      await page.locator('.attached li', { hasText: 'pasted.png' }).waitFor();
      await give(page.locator('main'), 'drop', 'dropped.png', 'image/png', PIXEL);
      await page.locator('.attached li', { hasText: 'dropped.png' }).waitFor();
      const [chooser] = await Promise.all([
        page.waitForEvent('filechooser'),
        page.getByRole('button', { name: 'Attach images or audio' }).click(),
      ]);
      await chooser.setFiles({ name: 'chosen.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') });
      await page.locator('.attached li', { hasText: 'chosen.png' }).waitFor();
      await page.getByRole('button', { name: 'Remove dropped.png' }).click();
      expect(await page.locator('.attached li').count()).toBe(2);
      await page.fill('#composer', 'What is this?');
      await page.locator('.send').click();
      await page.locator('.message.assistant:not(.pending)').waitFor();
      const [question] = (await tree()).nodes;
      expect(question!.parts.map((part) => Object.keys(part)[0])).toEqual(['image', 'image', 'text']);
      const isDrawn = () =>
        page
          .locator('.message.user img')
          .first()
          .evaluate((image: HTMLImageElement) => image.naturalWidth);
      await expect.poll(isDrawn).toBe(1);
      // In another window the bytes come from the server.
      await page.reload();
      await expect.poll(isDrawn).toBe(1);
    });

    it('are attached with the keyboard, and refused where they are none', async () => {
      await page.locator('#composer').focus();
      const choosing = page.waitForEvent('filechooser');
      // The browser has to know that a choice is awaited before the key is pressed.
      await page.evaluate(() => document.title);
      await page.keyboard.press('Alt+a');
      const chooser = await choosing;
      await chooser.setFiles({ name: 'key.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') });
      await page.locator('.attached li', { hasText: 'key.png' }).waitFor();
      await page.locator('#composer').focus();
      await page.keyboard.press('Enter');
      await page.locator('.message.assistant:not(.pending)').waitFor();
      expect((await tree()).nodes[0]!.parts).toHaveLength(1);
    });

    it.each(['mouse', 'keyboard'])('are recorded by the microphone, with the %s', async (way) => {
      if (way === 'mouse') await page.getByRole('button', { name: 'Record with the microphone' }).click();
      else await page.keyboard.press('Alt+r');
      const end = page.getByRole('button', { name: 'End the recording' });
      await end.waitFor();
      await page.waitForTimeout(600);
      await page.locator('#composer').focus();
      if (way === 'mouse') await end.click();
      else await page.keyboard.press('Alt+r');
      await page.locator('.attached li', { hasText: 'recording.wav' }).waitFor();
      await page.locator('#composer').focus();
      const length = await page.locator('.attached audio').evaluate(
        (audio: HTMLAudioElement) =>
          new Promise<number>((resolve) => {
            if (audio.duration > 0) resolve(audio.duration);
            audio.addEventListener('loadedmetadata', () => resolve(audio.duration));
          }),
      );
      expect(length).toBeGreaterThan(0.1);
      const [request] = await Promise.all([
        page.waitForRequest((sent) => sent.url().endsWith('/turns')),
        page.keyboard.press('Enter'),
      ]);
      const body = request.postDataJSON() as {
        messages: { content: { input_audio: { format: string; data: string } }[] }[];
      };
      const audio = body.messages[0]!.content[0]!.input_audio;
      expect(audio.format).toBe('wav');
      expect(Buffer.from(audio.data, 'base64').subarray(0, 4).toString()).toBe('RIFF');
    });
  });

  it('has no microphone for a model that takes no audio', async () => {
    const [first] = ABOUT.models;
    const deaf = { ...first!, capabilities: { ...first!.capabilities!, audio: false, image: false } };
    await page.route('**/v1/alloquy/page', (route) => route.fulfill({ json: { ...ABOUT, models: [deaf] } }));
    await page.reload();
    await page.selectOption('.model-choice', 'scripted');
    await expect.poll(() => page.locator('.composer .icon-button').count()).toBe(0);
    await give(page.locator('#composer'), 'paste', 'pasted.png', 'image/png', PIXEL);
    await page.getByText('The model takes no images.').waitFor();
  });

  describe('calls of tools', () => {
    beforeEach(async () => {
      const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } };
      const { id } = await served.api<Conversation>('POST', 'v1/alloquy/conversations', { tools: [tool] });
      const call = (name: string, city: string) => ({
        id: name,
        type: 'function',
        function: { name: 'weather', arguments: JSON.stringify({ city }) },
      });
      await served.api('POST', `v1/alloquy/conversations/${id}/nodes`, {
        messages: [
          { role: 'user', content: 'Sun in Oslo or Rome?' },
          { role: 'assistant', content: '', tool_calls: [call('a', 'Oslo'), call('b', 'Rome')] },
        ],
      });
      await page.selectOption('.model-choice', 'scripted');
      await show(`#/c/${id}`);
      await page.locator('.waiting-call').nth(1).waitFor();
    });

    const results = async () => {
      const { nodes } = await tree();
      return nodes.filter((node) => node.role === 'tool').map((node) => JSON.stringify(node.parts));
    };

    it('are allowed and refused with the mouse', async () => {
      expect(await page.locator('.waiting-call').first().innerText()).toContain('Oslo');
      const sendButton = page.getByRole('button', { name: 'Send to the model' });
      expect(await sendButton.isDisabled()).toBe(true);
      await page.locator('.waiting-call').first().getByRole('textbox').fill('sunny');
      await page.locator('.waiting-call').nth(1).getByText('Refuse').click();
      await sendButton.click();
      await page.locator('.message.assistant', { hasText: 'I see.' }).waitFor();
      const answers = (await results()).join();
      expect(answers).toContain('sunny');
      expect(answers).toContain('this call was refused: the person said no');
      expect(await page.locator('.waiting-call').count()).toBe(0);
    });

    it('are answered with the keyboard', async () => {
      await page.locator('.waiting-call input').first().focus();
      await page.keyboard.press('Tab');
      await page.keyboard.type('rain');
      await page.keyboard.press('Tab');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Tab');
      await page.keyboard.type('too far');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.locator('.message.assistant', { hasText: 'I see.' }).waitFor();
      expect((await results()).join()).toContain('this call was refused: too far');
    });
  });

  it('sets the model and the sampling, which each turn has, with the mouse and the keyboard', async () => {
    await page.getByRole('link', { name: 'Models and settings' }).click();
    await page.locator('.card', { hasText: 'scripted' }).getByRole('button').click();
    await page.locator('input[name=temperature]').fill('0.25');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('7');
    await page.keyboard.press('Tab');
    await page.locator('textarea[name=system-prompt]').fill('Be brief.');
    await page.locator('textarea[name=stop]').fill('END\nSTOP');
    await page.locator('textarea[name=stop]').blur();
    await page.getByRole('heading', { name: 'Models and settings' }).click();
    await page.keyboard.press('X');
    await page.fill('#composer', 'Hello');
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.url().endsWith('/turns')),
      page.press('#composer', 'Enter'),
    ]);
    expect(request.postDataJSON()).toMatchObject({
      model: 'scripted',
      sampling: { temperature: 0.25, top_k: 7, stop: ['END', 'STOP'] },
      system_prompt: 'Be brief.',
      text: 'Hello',
    });
    await page.locator('.message.assistant:not(.pending)').waitFor();
  });

  it('shows what a key has used, and what conversations cost', async () => {
    const report: UsageReport = {
      owner: 'ann',
      limits: { calls_per_minute: 30, tokens_per_day: 10_000, running: 8, waiting: 32 },
      used: { tokens: 9000, tokens_reset: 7200, next_call: 0, running: 1, waiting: 0 },
    };
    await page.route('**/v1/alloquy/usage', (route) => route.fulfill({ json: report }));
    await page.selectOption('.model-choice', 'scripted');
    await page.fill('#composer', 'What does it cost?');
    await page.press('#composer', 'Enter');
    await page.locator('.message.assistant:not(.pending)').waitFor();
    const id = idOf();
    await page.locator('#composer').blur();
    await page.keyboard.press('U');
    await page.getByText('9,000 of 10,000').waitFor();
    await page.getByText('again 0 in 2 h 0 min').waitFor();
    const row = page.locator('.costs tr', { hasText: 'What does it cost?' });
    await row.waitFor();
    await row.getByRole('link').click();
    await page.locator('.message').first().waitFor();
    await page.getByRole('tab', { name: 'Cost' }).click();
    await page.getByRole('region', { name: 'Whole tree' }).waitFor();
    const { tokens } = await served.api<{ tokens: { output: number } }>('GET', `v1/alloquy/conversations/${id}/cost`);
    expect(tokens.output).toBeGreaterThan(0);
    const facts = await page.getByRole('region', { name: 'Whole tree' }).locator('.fact').allInnerTexts();
    expect(facts.some((fact) => /Reply\s+/.test(fact) && fact.includes(`${tokens.output}`))).toBe(true);
  });
});
