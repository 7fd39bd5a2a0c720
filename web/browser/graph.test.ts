// The tree as a picture: by mouse, by wheel and by keys; large trees are drawn as far as they are seen.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { AddedNodes, Conversation, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { sample } from './sample';

describe.skipIf(missing() !== null)('the graph', () => {
  let served: Served;
  let watched: Watched | undefined;
  let page: Page;
  let id: string;

  beforeAll(async () => {
    served = await serve();
    id = await sample(served);
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });

  async function show(conversation: string): Promise<void> {
    await watched?.context.close();
    watched = await openPage(`${served.url}#/c/${conversation}`);
    page = watched.page;
    await page.locator('.message').first().waitFor();
  }

  const card = (text: string) => page.locator('.card', { hasText: text });
  const active = () => page.locator('.card[data-active="true"]').getAttribute('aria-label');
  const lastText = () => page.locator('.line .message-body').last().innerText();
  const width = async () => (await page.locator('.card rect').first().boundingBox())!.width;

  describe('of a small tree', () => {
    beforeEach(async () => {
      await show(id);
      return () => expect(watched?.problems).toEqual([]);
    });

    it('is moved, zoomed and gone through with the mouse', async () => {
      await page.locator('.tree-tools').getByRole('button', { name: 'Show the graph' }).click();
      await card('And with milk?').waitFor();
      expect(await page.locator('.card').count()).toBe(8);
      const before = await width();
      const middle = (await card('And with milk?').boundingBox())!;
      await page.mouse.move(middle.x + 20, middle.y + 20);
      await page.mouse.wheel(0, -300);
      await expect.poll(width).toBeGreaterThan(before * 1.3);
      // What is under the pointer stays there.
      const after = (await card('And with milk?').boundingBox())!;
      expect(after.x).toBeLessThan(middle.x + 20);
      expect(after.x + after.width).toBeGreaterThan(middle.x + 20);
      await page.getByRole('button', { name: 'Smaller' }).click();
      await page.getByRole('button', { name: 'Larger' }).click();
      // A drag moves the picture, and selects nothing.
      const selected = await active();
      const from = (await card('And with milk?').boundingBox())!;
      await page.mouse.move(from.x + 10, from.y + 10);
      await page.mouse.down();
      await page.mouse.move(from.x + 60, from.y + 110, { steps: 5 });
      await page.mouse.up();
      const to = (await card('And with milk?').boundingBox())!;
      expect(to.x - from.x).toBeCloseTo(50, 0);
      expect(to.y - from.y).toBeCloseTo(100, 0);
      expect(await active()).toBe(selected);
      await page.getByRole('button', { name: 'Show all' }).click();
      await expect.poll(width).toBeCloseTo(before, 0);
      await card('It depends on the tea.').click();
      await expect.poll(active).toMatch(/It depends on the tea\., 1 of 2/);
      await page.locator('.graph-tools').getByRole('button', { name: 'Show only what follows this' }).click();
      await expect.poll(() => page.locator('.card').count()).toBe(1);
      await page.locator('.graph-tools').getByRole('button', { name: 'Show the whole tree' }).click();
      await expect.poll(() => page.locator('.card').count()).toBe(8);
      await card('What about the second').dblclick();
      await expect.poll(lastText).toBe('Shorter, and a little hotter.');
    });

    it('is moved, zoomed and gone through with the keyboard', async () => {
      await page.locator('.message', { hasText: 'Only black tea' }).click();
      await page.keyboard.press('g');
      await page.locator('.graph-area:focus').waitFor();
      await expect.poll(active).toMatch(/milk, 1 of 2/);
      await page.keyboard.press('ArrowRight');
      await expect.poll(active).toMatch(/Milk goes in first/);
      await page.keyboard.press('ArrowUp');
      await expect.poll(active).toMatch(/And with milk/);
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowDown');
      await expect.poll(active).toMatch(/Shorter, and a little/);
      await page.keyboard.press('Home');
      await expect.poll(active).toMatch(/How hot should/);
      const before = await width();
      await page.keyboard.press('+');
      await expect.poll(width).toBeGreaterThan(before * 1.2);
      const place = (await page.locator('.card[data-active="true"] rect').boundingBox())!;
      await page.keyboard.press('Shift+ArrowDown');
      await expect
        .poll(async () => (await page.locator('.card[data-active="true"] rect').boundingBox())!.y)
        .toBeCloseTo(place.y - 80, 0);
      await page.keyboard.press('-');
      await page.keyboard.press('0');
      await expect.poll(width).toBeCloseTo(before, 0);
      await page.keyboard.press('ArrowDown');
      await expect.poll(active).toMatch(/Green tea wants/);
      await page.keyboard.press('h');
      await expect.poll(() => page.locator('.card').count()).toBe(6);
      await page.keyboard.press('Shift+H');
      await expect.poll(() => page.locator('.card').count()).toBe(8);
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('Enter');
      await expect.poll(lastText).toBe('It depends on the tea.');
      // The head follows what is shown.
      const head = async () => {
        const tree = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
        return tree.nodes.find((node) => node.id === tree.head)?.text;
      };
      await expect.poll(head).toBe('It depends on the tea.');
    });

    it('has an address, and shows what is added elsewhere', async () => {
      await page.keyboard.press('g');
      await card('And with milk?').waitFor();
      const other = await openPage(page.url());
      await other.page.locator('.card').nth(7).waitFor();
      const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
      const to = nodes.find((node) => node.text === 'Milk goes in first, say some.');
      await served.api<AddedNodes>('POST', `v1/alloquy/conversations/${id}/nodes`, {
        node: to!.id,
        messages: [{ role: 'user', content: 'Why so?' }],
      });
      await card('Why so?').waitFor();
      await other.page.locator('.card', { hasText: 'Why so?' }).waitFor();
      expect(other.problems).toEqual([]);
      await other.context.close();
    });
  });

  it('of 5,000 messages is drawn as far as it is seen', async () => {
    const { id: large } = await served.api<Conversation>('POST', 'v1/alloquy/conversations', {});
    const say = (count: number, name: string) =>
      Array.from({ length: count }, (_, at) => ({
        role: at % 2 === 0 ? 'user' : 'assistant',
        content: `${name} ${at}`,
      }));
    const add = (body: unknown) => served.api<AddedNodes>('POST', `v1/alloquy/conversations/${large}/nodes`, body);
    const { nodes } = await add({ messages: say(3000, 'Long') });
    for (let at = 0; at < 100; at += 1) {
      await add({ node: nodes[at * 29 + 1]!.id, messages: say(20, `Branch ${at}:`) });
    }
    await show(large);
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.locator('.graph-area:focus').waitFor();
    await page.locator('.card').first().waitFor();
    expect(await page.locator('.card').count()).toBeLessThan(120);
    await page.keyboard.press('Home');
    await page.locator('.card', { hasText: 'Long 0' }).waitFor();
    await page.keyboard.press('0');
    await page.locator('.graph-bar').first().waitFor({ state: 'attached' });
    expect(await page.locator('.graph-picture *').count()).toBeLessThan(3000);
    // Moves across the whole picture, with no frame that takes long.
    const frames = await page.evaluate(async () => {
      const area = document.querySelector('.graph-area')!;
      const box = area.getBoundingClientRect();
      const times: number[] = [];
      let before = performance.now();
      for (let at = 0; at < 60; at += 1) {
        const clientX = box.x + box.width / 2;
        const clientY = box.y + 100;
        area.dispatchEvent(
          new WheelEvent('wheel', { deltaY: at < 40 ? -120 : 120, clientX, clientY, cancelable: true }),
        );
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - before);
        before = performance.now();
      }
      return times.sort((a, b) => b - a).slice(0, 5);
    });
    console.log('the longest frames, in ms:', frames.map(Math.round).join(' '));
    expect(await page.locator('.graph-picture *').count()).toBeLessThan(3000);
    await page.keyboard.press('.');
    await page.locator('.card[data-active="true"]').waitFor();
    expect(watched?.problems).toEqual([]);
  });
});
