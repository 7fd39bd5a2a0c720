// Several windows on one conversation, lost connections, and hands instead of mice.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served } from './harness';
import { scriptedModel, type ScriptedModel } from './model';
import { sample } from './sample';
import { SEED, STEPS, numbers, rowsOf } from './steps';

describe.skipIf(missing() !== null)('windows', () => {
  let model: ScriptedModel;
  let served: Served;

  beforeAll(async () => {
    model = await scriptedModel();
    served = await serve(model.args);
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await closeBrowser();
  });

  it('that both do random things end with the tree of the store', { timeout: 60_000 + 1000 * STEPS }, async () => {
    const id = await sample(served);
    model.reply((question) => `Reply to ${question}`);
    const opened = await Promise.all([1, 2].map(() => openPage(`${served.url}#/c/${id}`)));
    for (const { page } of opened) {
      await page.locator('.message').first().waitFor();
      await page.selectOption('.model-choice', 'scripted');
    }
    const steps = async (page: Page, seed: number) => {
      const random = numbers(seed);
      for (let step = 0; step < STEPS; step += 1) {
        const all = page.locator('.row');
        const row = all.nth(random(await all.count()));
        await row.click({ timeout: 500 }).catch(() => undefined);
        await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
        const key = ['r', '[', ']', 'b', 'send', 'send', 'c', 'Delete'][random(8)] ?? '';
        if (key === 'send') {
          await page.fill('#composer', `Step ${step} of ${seed}`);
          await page.press('#composer', 'Enter');
          await page.press('#composer', 'Escape');
        } else if (key !== 'Delete' || step % 7 === 0) {
          await page.keyboard.press(key);
          await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
        }
        await page.waitForTimeout(random(60));
      }
    };
    await Promise.all(opened.map(({ page }, index) => steps(page, SEED + index)));
    const stored = async () =>
      (await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`)).nodes.map((node) => node.id).sort();
    for (const { page, problems } of opened) {
      await page.locator('.pending').waitFor({ state: 'detached' });
      const difference = async () => {
        const shown = (await rowsOf(page)).map((row) => row.id);
        const kept = await stored();
        return {
          missing: kept.filter((node) => !shown.includes(node)),
          extra: shown.filter((node) => !kept.includes(node)),
        };
      };
      await expect.poll(difference, { timeout: 30_000 }).toEqual({ missing: [], extra: [] });
      // The head may have been moved by the other window, which is what the browser's console reports.
      expect(problems.filter((problem) => !problem.includes('412') && !problem.includes('409'))).toEqual([]);
    }
    for (const { context } of opened) await context.close();
  });

  it('that lost the server continue where they were', async () => {
    const id = await sample(served);
    const { page, context } = await openPage(`${served.url}#/c/${id}`);
    await page.locator('.live[data-live="true"]').waitFor();
    await context.setOffline(true);
    // Streams that are open stay open in an offline browser: the next request fails.
    await page.fill('#composer', 'Are you there?');
    await page.press('#composer', 'Enter');
    await page.getByText('The server does not answer.').first().waitFor();
    await context.setOffline(false);
    await page.selectOption('.model-choice', 'pocket');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.message.user:not(.pending)', { hasText: 'Are you there?' }).waitFor();
    await context.close();
  });

  it('say whole sentences to screen readers', async () => {
    const { page, context } = await openPage(served.url);
    await page.selectOption('.model-choice', 'scripted');
    model.reply(() => 'First sentence here. Second sentence here! And a third one', 30);
    await page.evaluate(() => {
      const said: string[] = [];
      Object.assign(window, { said });
      const region = document.querySelector('[aria-live="polite"]')!;
      new MutationObserver(() => said.push(region.textContent)).observe(region, {
        childList: true,
        characterData: true,
        subtree: true,
      });
    });
    await page.fill('#composer', 'Speak');
    await page.press('#composer', 'Enter');
    await page.locator('.message.assistant:not(.pending)').waitFor();
    const said = () => page.evaluate(() => (window as unknown as { said: string[] }).said.filter(Boolean));
    await expect.poll(said).toEqual(['First sentence here.', 'Second sentence here!', 'And a third one']);
    await context.close();
  });

  it('on a phone show one part, and a swipe shows another version', async () => {
    const id = await sample(served);
    const { page, context } = await openPage(`${served.url}#/c/${id}`, { width: 390, height: 844, isTouch: true });
    const last = page.locator('.message', { hasText: 'Only black tea' });
    await last.waitFor();
    await last.evaluate((element) => {
      const at = (x: number) => [new Touch({ identifier: 1, target: element, clientX: x, clientY: 300 })];
      element.dispatchEvent(new TouchEvent('touchstart', { bubbles: true, touches: at(300), changedTouches: at(300) }));
      element.dispatchEvent(new TouchEvent('touchend', { bubbles: true, touches: [], changedTouches: at(100) }));
    });
    await page.locator('.message', { hasText: 'Milk goes in first' }).waitFor();
    await page.locator('.part-bar').getByRole('button', { name: 'Tree' }).tap();
    expect(await page.locator('.composer').isVisible()).toBe(false);
    await page.locator('.row', { hasText: 'It depends on the tea.' }).tap();
    await page.locator('.message', { hasText: 'It depends on the tea.' }).waitFor();
    expect(await page.locator('.outline').isVisible()).toBe(false);
    await context.close();
  });
});
