// The screenshots of docs/page.md: `npm run screenshots` makes them again. Each is small, and its messages have the same times.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type View } from './harness';
import { library, type Library } from './library';
import { sample } from './sample';

const FOLDER = process.env['ALLOQUY_SCREENSHOTS'];
/** The screens that are made again; all of them where it is not set. */
const ONLY = process.env['ALLOQUY_SCREENS']?.split(',');
/** The most bytes of a screenshot. */
const LARGEST = 60_000;
const LOOKS: Record<string, View> = {
  light: { width: 1280, height: 800 },
  dark: { width: 1280, height: 800, scheme: 'dark' },
  phone: { width: 390, height: 780, isTouch: true },
};

const tab = async (page: Page, name: string) => {
  const bar = page.locator('.part-bar').getByRole('button', { name: 'Tree' });
  if (await bar.isVisible()) await bar.click();
  await page.getByRole('tab', { name }).click();
};

const USAGE = {
  owner: 'ann',
  limits: { calls_per_minute: 30, tokens_per_day: 200_000, running: 8, waiting: 32 },
  used: { tokens: 171_300, tokens_reset: 7200, next_call: 0, running: 2, waiting: 0 },
};

/** What the screens show: a conversation, one with a reply of the model, and a run of a flow. */
interface Shown {
  sample: string;
  asked: string;
  run: string;
}

/** Opens another place than the conversation. */
const to = (page: Page, hash: string) => page.evaluate((place) => (location.hash = place), hash);

const SCREENS: Record<string, (page: Page, shown: Shown) => Promise<void>> = {
  conversation: async (page) => {
    await page.locator('.hljs-keyword').first().waitFor();
    await page.locator('math').first().waitFor();
  },
  tree: async (page) => {
    await tab(page, 'Tree');
    await page.getByRole('treeitem').first().waitFor();
  },
  details: async (page, { asked }) => {
    await to(page, `#/c/${asked}`);
    await page.locator('.message', { hasText: 'Who are you' }).waitFor();
    await tab(page, 'Details');
    await page.locator('.report-part').first().waitFor();
  },
  edit: async (page) => {
    await page.keyboard.press('e');
    await page.locator('.editor textarea').waitFor();
  },
  search: async (page) => {
    const bar = page.locator('.part-bar').getByRole('button', { name: 'Conversations' });
    if (await bar.isVisible()) await bar.click();
    await page.locator('input[type=search]').click();
    await page.locator('input[type=search]:focus').waitFor();
    await page.keyboard.type('milk');
    await page.locator('mark').first().waitFor();
  },
  palette: async (page) => {
    await page.keyboard.press('Control+k');
    await page.locator('.choice').first().waitFor();
  },
  keys: async (page) => {
    await page.keyboard.press('?');
    await page.locator('.key-row').first().waitFor();
  },
  settings: async (page) => {
    await page.keyboard.press('Control+,');
    await page.locator('.settings').waitFor();
  },
  graph: async (page) => {
    await page.keyboard.press('g');
    await page.locator('.card').nth(3).waitFor();
  },
  answers: async (page) => {
    await page
      .locator('.message', { hasText: 'cooler water' })
      .first()
      .click({ position: { x: 8, y: 8 } });
    await page.keyboard.press('a');
    await page.locator('.answer table').first().waitFor();
  },
  compare: async (page) => {
    await page.keyboard.press('d');
    await page.locator('.compare del').first().waitFor();
  },
  prompt: async (page, { asked }) => {
    await to(page, `#/c/${asked}`);
    await page.locator('.message', { hasText: 'Who are you' }).waitFor();
    await tab(page, 'Prompt');
    await page.locator('.token').first().waitFor();
  },
  tokens: async (page, { asked }) => {
    await to(page, `#/c/${asked}`);
    await page.locator('.message', { hasText: 'Who are you' }).waitFor();
    await tab(page, 'Tokens');
    await page.getByLabel('Report log-probabilities with new replies').check();
    await page.getByRole('button', { name: 'Answer again with them' }).click();
    await page.getByText(/^(\d+) of \1$/).waitFor({ state: 'attached' });
    // A phone shows the line now.
    await tab(page, 'Tokens');
    await page.locator('.token.heat').nth(6).click();
    await page.locator('.alternatives li').nth(2).waitFor();
  },
  prompts: async (page) => {
    await to(page, '#/prompts/user%2Fask');
    await page.locator('textarea[name=place]').fill('the castle');
    await page.locator('textarea[name=words]').fill('ten');
    await page.getByRole('button', { name: 'Fill in' }).click();
    await page.locator('.rendered').waitFor();
  },
  flows: async (page, { run }) => {
    await to(page, `#/flows/order/${run}`);
    await page.locator('.flow-state[data-present=true]').waitFor();
  },
  usage: async (page) => {
    await to(page, '#/usage');
    await page.locator('.costs tbody tr').nth(2).waitFor();
  },
  searching: async (page) => {
    await to(page, '#/search');
    await page.locator('.search-words input').fill('milk');
    await page.locator('.search-words button').click();
    await page.locator('.result mark').first().waitFor();
    await page.locator('#screen-title').hover();
  },
};

describe.skipIf(missing() !== null || !FOLDER)('screenshots', () => {
  let files: Library;
  let served: Served;
  let shown: Shown;

  beforeAll(async () => {
    files = await library();
    served = await serve(files.args);
    const run = await served.api<{ id: string }>('POST', 'v1/alloquy/flows/order/runs', {
      metadata: { title: 'An order' },
    });
    await served.api('POST', `v1/alloquy/flows/order/runs/${run.id}`, { answer: 'tea' });
    const asked = await served.api<Conversation>('POST', 'v1/alloquy/conversations', {
      metadata: { title: 'Who are you?' },
      messages: [{ role: 'system', content: 'You are a guide to the house of tea.' }],
    });
    await served.api('POST', `v1/alloquy/conversations/${asked.id}/turns`, { text: 'Who are you?' });
    shown = { run: run.id, asked: asked.id, sample: await sample(served) };
    await mkdir(FOLDER ?? '', { recursive: true });
  });
  afterAll(async () => {
    await served.close();
    await files.close();
    await closeBrowser();
  });

  for (const [look, view] of Object.entries(LOOKS)) {
    it(`are made, ${look}`, { timeout: 240_000 }, async () => {
      for (const [name, go] of Object.entries(SCREENS)) {
        if (ONLY !== undefined && !ONLY.includes(name)) continue;
        const { page, context } = await openPage(served.url, view);
        // The same dates each time.
        await page.route(/\/tree$/, async (route) => {
          const response = await route.fetch();
          const tree = (await response.json()) as TreeObject;
          for (const [at, node] of tree.nodes.entries()) node.created_at = 1_790_000_000 + 60 * at;
          await route.fulfill({ response, json: tree });
        });
        await page.route('**/v1/alloquy/usage', (route) => route.fulfill({ json: USAGE }));
        await page.clock.setFixedTime(new Date('2026-09-21T15:00:00Z'));
        await page.evaluate((hash) => (location.hash = hash), `#/c/${shown.sample}`);
        await page.locator('.message').first().waitFor();
        await go(page, shown);
        await page.waitForTimeout(250);
        const session = await context.newCDPSession(page);
        const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 82 });
        const screenshot = Buffer.from(data, 'base64');
        expect(screenshot.length).toBeLessThan(LARGEST);
        await writeFile(path.join(FOLDER ?? '', `${name}-${look}.webp`), screenshot);
        await context.close();
      }
    });
  }
});
