// Every screen in light, dark and high contrast, on a desk and on a phone: no rule of WCAG 2.2 AA that axe knows is broken.
// With ALLOQUY_SHOTS=FOLDER their images are kept there.
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { LOOKS, PHONE, violations } from './axe';
import { closeBrowser, missing, openPage, serve, type Served } from './harness';
import { sample } from './sample';

const FOLDER = process.env['ALLOQUY_SHOTS'];

/** On a phone the list and the panel have a part of the page of their own. */
async function part(page: Page, name: string): Promise<void> {
  const button = page.locator('.part-bar').getByRole('button', { name, exact: true });
  if (await button.isVisible()) await button.click();
}

const SCREENS: Record<string, (page: Page) => Promise<void>> = {
  empty: async () => {
    // The page as it is at first.
  },
  conversation: async (page) => {
    await page.getByText('Only black tea').first().waitFor();
    await page.locator('.hljs-keyword').first().waitFor();
    await page.locator('math').first().waitFor();
  },
  details: async (page) => {
    await part(page, 'Tree');
    await page.getByRole('tab', { name: 'Details' }).click();
    await page.locator('.fact').first().waitFor();
  },
  editor: async (page) => {
    await page.keyboard.press('e');
    await page.locator('.editor textarea').waitFor();
  },
  menu: async (page) => {
    await page.locator('.conversation .bar').getByRole('button', { name: 'Actions of the conversation' }).click();
    await page.getByRole('menuitem').first().waitFor();
  },
  search: async (page) => {
    await part(page, 'Conversations');
    await page.locator('input[type=search]').click();
    await page.keyboard.type('milk');
    await page.locator('mark').first().waitFor();
  },
  help: async (page) => {
    await page.keyboard.press('?');
    await page.locator('.key-row').first().waitFor();
  },
  palette: async (page) => {
    await page.keyboard.press('Control+k');
    await page.locator('.choice').first().waitFor();
  },
  settings: async (page) => {
    await page.keyboard.press('Control+,');
    await page.locator('.settings').waitFor();
  },
};

describe.skipIf(missing() !== null)('screens', () => {
  let served: Served;
  let id: string;

  beforeAll(async () => {
    served = await serve();
    id = await sample(served);
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });

  for (const [look, view] of Object.entries(LOOKS)) {
    for (const [name, go] of Object.entries(SCREENS)) {
      it(`${name}, ${look}`, async () => {
        const url = name === 'empty' ? served.url : `${served.url}#/c/${id}`;
        const { page, context, problems } = await openPage(url, view);
        await page.locator('.composer').waitFor();
        if (name !== 'empty') await page.locator('.message').first().waitFor();
        await go(page);
        await page.waitForTimeout(150);
        if (FOLDER) await page.screenshot({ path: path.join(FOLDER, `${name}-${look}.png`) });
        expect(await violations(page)).toEqual([]);
        expect(problems).toEqual([]);
        await context.close();
      });
    }
  }

  it('a tree on a phone', async () => {
    const { page, context } = await openPage(`${served.url}#/c/${id}`, PHONE);
    await page.locator('.message').first().waitFor();
    await page.locator('.part-bar').getByRole('button', { name: 'Tree' }).click();
    await page.getByRole('treeitem').first().waitFor();
    if (FOLDER) await page.screenshot({ path: path.join(FOLDER, 'tree-phone.png') });
    expect(await violations(page)).toEqual([]);
    await page.locator('.part-bar').getByRole('button', { name: 'Conversations' }).click();
    await page.getByRole('link', { name: /Tea for two/ }).waitFor();
    if (FOLDER) await page.screenshot({ path: path.join(FOLDER, 'list-phone.png') });
    await context.close();
  });
});
