// The screenshots of docs/page.md: `npm run screenshots` makes them again. Each is small, and its messages have the same times.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type View } from './harness';
import { sample } from './sample';

const FOLDER = process.env['ALLOQUY_SCREENSHOTS'];
/** The most bytes of a screenshot. */
const LARGEST = 150_000;
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

const SCREENS: Record<string, (page: Page) => Promise<void>> = {
  conversation: async (page) => {
    await page.locator('.hljs-keyword').first().waitFor();
    await page.locator('math').first().waitFor();
  },
  tree: async (page) => {
    await tab(page, 'Tree');
    await page.getByRole('treeitem').first().waitFor();
  },
  details: async (page) => {
    await tab(page, 'Details');
    await page.locator('.fact').first().waitFor();
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
};

describe.skipIf(missing() !== null || !FOLDER)('screenshots', () => {
  let served: Served;
  let id: string;

  beforeAll(async () => {
    served = await serve();
    id = await sample(served);
    await mkdir(FOLDER ?? '', { recursive: true });
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });

  for (const [look, view] of Object.entries(LOOKS)) {
    it(`are made, ${look}`, { timeout: 120_000 }, async () => {
      for (const [name, go] of Object.entries(SCREENS)) {
        const { page, context } = await openPage(served.url, view);
        // The same dates each time.
        await page.route(/\/tree$/, async (route) => {
          const response = await route.fetch();
          const tree = (await response.json()) as TreeObject;
          for (const [at, node] of tree.nodes.entries()) node.created_at = 1_790_000_000 + 60 * at;
          await route.fulfill({ response, json: tree });
        });
        await page.clock.setFixedTime(new Date('2026-09-21T15:00:00Z'));
        await page.evaluate((hash) => (location.hash = hash), `#/c/${id}`);
        await page.locator('.message').first().waitFor();
        await go(page);
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
