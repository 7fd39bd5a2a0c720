// The screens around conversations in light, dark, high contrast and on a phone: no rule of WCAG 2.2 AA that axe knows is broken. With
// ALLOQUY_SHOTS=FOLDER their images are kept there.
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation } from '../src/api/types';
import { LOOKS, violations } from './axe';
import { closeBrowser, missing, openPage, serve, type Served } from './harness';
import { library, servesLibraries, type Library } from './library';
import { scriptedModel, type ScriptedModel } from './model';
import { sample } from './sample';

const FOLDER = process.env['ALLOQUY_SHOTS'];
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const USAGE = {
  owner: 'ann',
  limits: { calls_per_minute: 30, tokens_per_day: 10_000, running: 8, waiting: 32 },
  used: { tokens: 9000, tokens_reset: 7200, next_call: 0, running: 1, waiting: 0 },
};

describe.skipIf(missing() !== null || !servesLibraries())('screens around conversations', () => {
  let files: Library;
  let model: ScriptedModel;
  let served: Served;
  let calls: string;
  let run: string;

  beforeAll(async () => {
    files = await library();
    model = await scriptedModel();
    served = await serve([...model.args, ...files.args]);
    await sample(served);
    const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } };
    const made = await served.api<Conversation>('POST', 'v1/alloquy/conversations', {
      tools: [tool],
      metadata: { title: 'Weather', topic: 'sky' },
    });
    calls = made.id;
    const given = JSON.stringify({ city: 'Oslo' });
    await served.api('POST', `v1/alloquy/conversations/${calls}/nodes`, {
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }] },
        {
          role: 'assistant',
          content: 'I look it up.',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather', arguments: given } }],
        },
      ],
    });
    const begun = await served.api<{ id: string }>('POST', 'v1/alloquy/flows/order/runs', {
      metadata: { title: 'An order' },
    });
    run = begun.id;
    await served.api('POST', `v1/alloquy/flows/order/runs/${run}`, { answer: 'tea' });
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await files.close();
    await closeBrowser();
  });

  const SCREENS: Record<string, [string, (page: Page) => Promise<void>]> = {
    searching: [
      '#/search',
      async (page) => {
        await page.locator('.search-words input').fill('milk OR tea');
        await page.locator('.search-words input').fill('milk');
        await page.locator('.search-words button').click();
        await page.locator('.result mark').first().waitFor();
      },
    ],
    prompts: [
      '#/prompts/user%2Fask',
      async (page) => {
        await page.locator('textarea[name=place]').fill('the castle');
        await page.getByRole('button', { name: 'Fill in' }).click();
        await page.locator('.rendered').waitFor();
      },
    ],
    flow: ['flow', (page) => page.locator('.flow-state[data-present=true]').waitFor()],
    'flow-line': ['flow-line', (page) => page.locator('.flow-strip .wait').waitFor()],
    models: ['#/models', (page) => page.locator('.card').first().waitFor()],
    usage: ['#/usage', (page) => page.locator('.costs tbody tr').nth(2).waitFor()],
    calls: ['calls', (page) => page.locator('.waiting-call').waitFor()],
    import: [
      '#/',
      async (page) => {
        await page.keyboard.press('Alt+i');
        const file = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('Dear diary') };
        await page.locator('.import-files').setInputFiles(file);
        await page.locator('.imported .field-problem').waitFor();
      },
    ],
    attached: [
      '#/',
      async (page) => {
        const file = { name: 'castle.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') };
        await page.locator('.attach-files').setInputFiles(file);
        await page.locator('.attached li').waitFor();
      },
    ],
  };

  for (const [look, view] of Object.entries(LOOKS)) {
    for (const [name, [hash, go]] of Object.entries(SCREENS)) {
      it(`${name}, ${look}`, async () => {
        const places: Record<string, string> = {
          calls: `#/c/${calls}`,
          flow: `#/flows/order/${run}`,
          'flow-line': `#/c/${run}`,
        };
        const { page, context, problems } = await openPage(served.url, view);
        await page.route('**/v1/alloquy/usage', (route) => route.fulfill({ json: USAGE }));
        await page.evaluate((to) => (location.hash = to), places[hash] ?? hash);
        await go(page);
        await page.waitForTimeout(200);
        if (FOLDER) await page.screenshot({ path: path.join(FOLDER, `${name}-${look}.png`) });
        expect(await violations(page)).toEqual([]);
        expect(problems.filter((text) => !/status of 40[04]/.test(text))).toEqual([]);
        await context.close();
      });
    }
  }
});
