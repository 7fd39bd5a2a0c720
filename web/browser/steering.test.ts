// The screens and dialogs of steering in light, dark, high contrast and on a phone: no rule of WCAG 2.2 AA that axe knows is broken.
// With ALLOQUY_SHOTS=FOLDER their images are kept there.
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { LOOKS, violations } from './axe';
import { closeBrowser, missing, openPage, serve, type Served } from './harness';
import { sample } from './sample';

const FOLDER = process.env['ALLOQUY_SHOTS'];

const SCREENS: Record<string, (page: Page) => Promise<void>> = {
  graph: async (page) => {
    await page.keyboard.press('g');
    await page.locator('.card').nth(3).waitFor();
  },
  'graph-part': async (page) => {
    await page.keyboard.press('k');
    await page.keyboard.press('h');
    await page.keyboard.press('g');
    await page.locator('.card').nth(2).waitFor();
  },
  answers: async (page) => {
    await page.keyboard.press('a');
    await page.locator('.answer').nth(1).waitFor();
    await page.getByText('Model and sampling of each').click();
    await page.keyboard.press('Tab');
  },
  compare: async (page) => {
    await page.keyboard.press('d');
    await page.locator('.compare del').waitFor();
  },
  write: async (page) => {
    await page.keyboard.press('w');
    await page.locator('.dialog textarea').waitFor();
  },
  score: async (page) => {
    await page.route('**/score', (route) => {
      const { texts } = route.request().postDataJSON() as { texts: string[] };
      const scores = texts.map((text, at) => ({ text, total: -3 - at, mean: -0.4 - at / 10, tokens: [] }));
      return route.fulfill({ json: { object: 'scores', model: 'pocket', scores } });
    });
    await page.keyboard.press('s');
    await page.getByRole('button', { name: 'Score', exact: true }).click();
    await page.locator('.scores tbody tr').nth(1).waitFor();
  },
  merge: async (page) => {
    await page.keyboard.press('Alt+m');
    await page.locator('.dialog select').waitFor();
  },
  removed: async (page) => {
    await page.keyboard.press('u');
    await page.locator('.removed li').waitFor();
  },
  marks: async (page) => {
    await page.keyboard.press("'");
    await page.locator('.mark-go').nth(1).waitFor({ state: 'attached' });
  },
};

describe.skipIf(missing() !== null)('screens of steering', () => {
  let served: Served;
  let id: string;

  beforeAll(async () => {
    served = await serve();
    await sample(served);
    id = await sample(served);
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });

  for (const [look, view] of Object.entries(LOOKS)) {
    for (const [name, go] of Object.entries(SCREENS)) {
      it(`${name}, ${look}`, async () => {
        const { page, context, problems } = await openPage(served.url, view);
        // A branch that was removed in this window.
        const nodes = [{ id: 'x', parent: null, role: 'user', text: 'A question', parts: [{ text: 'A question' }] }];
        const removed = JSON.stringify([{ key: 1, conversation: id, at: Date.now(), nodes, document: '{}' }]);
        await page.evaluate((text) => sessionStorage.setItem('alloquy.removed', text), removed);
        await page.goto(`${served.url}?#/c/${id}`);
        await page.locator('.message', { hasText: 'Only black tea' }).click();
        await go(page);
        await page.waitForTimeout(150);
        if (FOLDER) await page.screenshot({ path: path.join(FOLDER, `${name}-${look}.png`) });
        expect(await violations(page)).toEqual([]);
        expect(problems).toEqual([]);
        await context.close();
      });
    }
  }
});
