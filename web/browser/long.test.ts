// A conversation of 5,000 messages: only what is seen is drawn, and it scrolls without long frames.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served } from './harness';

const COUNT = 5000;

describe.skipIf(missing() !== null)('a long conversation', () => {
  let served: Served;
  let page: Page;
  let problems: string[];

  beforeAll(async () => {
    served = await serve();
    const { id } = await served.api<Conversation>('POST', 'v1/alloquy/conversations', { metadata: { title: 'Long' } });
    const messages = Array.from({ length: COUNT }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `Message **${at}**. ${'Some words of it, and more. '.repeat((at * 7) % 23)}`,
    }));
    await served.api('POST', `v1/alloquy/conversations/${id}/nodes`, { messages });
    ({ page, problems } = await openPage(`${served.url}#/c/${id}`));
    await page
      .getByText(`${COUNT - 1}`, { exact: true })
      .first()
      .waitFor();
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });

  it('is drawn as far as it is seen', async () => {
    expect(await page.locator('.message').count()).toBeLessThan(40);
    expect(await page.locator('.row').count()).toBeLessThan(100);
    expect(await page.locator('.line .virtual').evaluate((list) => list.scrollHeight)).toBeGreaterThan(COUNT * 60);
  });

  it('scrolls, and what is seen is drawn', async () => {
    const slow = await page.evaluate(async () => {
      const list = document.querySelector('.line .virtual')!;
      const frames: number[] = [];
      let before = performance.now();
      list.scrollTop = 0;
      for (let at = 0; at < 120; at += 1) {
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        frames.push(now - before);
        before = now;
        list.scrollTop += 180;
      }
      return frames.sort((a, b) => b - a).slice(0, 10);
    });
    console.log('the longest frames, in ms:', slow.map(Math.round).join(' '));
    const isCovered = await page.evaluate(() => {
      const list = document.querySelector('.line .virtual')!.getBoundingClientRect();
      const seen = document.elementFromPoint(list.x + list.width / 2, list.y + list.height / 2);
      return seen?.closest('.virtual-item') !== null;
    });
    expect(isCovered).toBe(true);
  });

  it('goes to any message, by the tree and by its address', async () => {
    await page.locator('.outline .virtual').evaluate((list) => (list.scrollTop = 0));
    await page.locator('.row', { hasText: 'Message 0.' }).click();
    await page.locator('.message', { hasText: 'Message 0.' }).waitFor();
    await page.keyboard.press('t');
    await page.locator('.row:focus').waitFor();
    await page.keyboard.press('End');
    await page.locator('.row:focus', { hasText: `Message ${COUNT - 1}.` }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.message', { hasText: `Message ${COUNT - 1}.` }).waitFor();
    const to = await page.locator('.row').nth(20).getAttribute('data-row');
    const conversation = /#\/c\/[^/]+/.exec(page.url())?.[0];
    await page.evaluate((hash) => (location.hash = hash), `${conversation}/${to}`);
    await page.locator(`.message[data-node="${to}"]`).waitFor();
    const box = await page.locator(`.message[data-node="${to}"]`).boundingBox();
    expect(box!.y).toBeGreaterThan(0);
    expect(box!.y).toBeLessThan(860);
  });

  it('has no errors', () => {
    expect(problems).toEqual([]);
  });
});
