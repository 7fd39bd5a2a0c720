// How fast the page is with 5,000 messages. The figures are printed; with ALLOQUY_STRICT=1 (`npm run speed`, on a machine
// that does nothing else) they are compared with what people should get, and else with three times that.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served } from './harness';
import { scriptedModel, type ScriptedModel } from './model';
import { busy, rounded, share } from './tasks';

const isStrict = Boolean(process.env['ALLOQUY_STRICT']);
const SLOWER = isStrict ? 1 : 3;
const MESSAGES = 5000;
const REPLIES = isStrict ? 100 : 25;
/** Milliseconds. */
const PAINT = 300;
const INTERACTION = 50;
const FRAME = 50;

/** What the page keeps, as the browser counts it after a collection of garbage. */
interface Kept {
  /** Bytes. */
  heap: number;
  nodes: number;
  listeners: number;
}

async function collected(page: Page): Promise<Kept> {
  const session = await page.context().newCDPSession(page);
  // What the first collection frees may hold more.
  for (let at = 0; at < 2; at += 1) await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
  await session.detach();
  return { heap: usedSize, nodes, listeners: jsEventListeners };
}

describe.skipIf(missing() !== null)('a page of 5,000 messages', () => {
  let model: ScriptedModel;
  let served: Served;
  let id: string;

  beforeAll(async () => {
    model = await scriptedModel();
    served = await serve(model.args);
    ({ id } = await served.api<Conversation>('POST', 'v1/alloquy/conversations', { metadata: { title: 'Long' } }));
    const messages = Array.from({ length: MESSAGES }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `Message **${at}**. ${'Some words of it, and `more`. '.repeat((at * 7) % 23)}`,
    }));
    await served.api('POST', `v1/alloquy/conversations/${id}/nodes`, { messages });
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await closeBrowser();
  });

  it('is painted soon', async () => {
    const { page, context } = await openPage(served.url);
    const paints: number[] = [];
    for (let at = 0; at < 5; at += 1) {
      await page.reload();
      await page.locator('#composer').waitFor();
      const first = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0;
      await expect.poll(() => page.evaluate(first)).toBeGreaterThan(0);
      paints.push(await page.evaluate(first));
    }
    console.log(`first paint: ${rounded(paints)} ms`);
    expect(Math.min(...paints)).toBeLessThan(PAINT * SLOWER);
    await context.close();
  });

  it('answers keys and clicks at once, and scrolls', { timeout: 120_000 }, async () => {
    const { page, problems, context } = await openPage(`${served.url}#/c/${id}`);
    await page.locator('.message').last().waitFor();
    await page.waitForTimeout(500);
    const keys = [
      'k',
      'k',
      'j',
      't',
      'ArrowUp',
      'ArrowUp',
      'Home',
      'End',
      'Enter',
      'm',
      'ArrowUp',
      'i',
      'a',
      'b',
      'Escape',
    ];
    const acted = await busy(page, async () => {
      for (const key of keys) {
        await page.keyboard.press(key);
        await page.evaluate(() => new Promise(requestAnimationFrame));
      }
      for (const at of [3, 7, 11]) await page.locator('.row').nth(at).click();
    });
    const work = acted.tasks.slice(0, keys.length + 3);
    console.log(
      `keys and clicks: p95 ${share(work, 0.95).toFixed(0)}, the longest ${rounded(work.slice(0, 5))} ms of the processor`,
    );
    expect(share(work, 0.95)).toBeLessThan(INTERACTION * SLOWER);
    const scrolled = await busy(page, () =>
      page.evaluate(async () => {
        const list = document.querySelector('.line .virtual');
        for (let at = 0; list && at < 180; at += 1) {
          list.scrollTop = at * 240;
          await new Promise(requestAnimationFrame);
        }
      }),
    );
    console.log(
      `scrolling: the longest ${rounded(scrolled.tasks.slice(0, 5))} ms of the processor, ${rounded(scrolled.waits.slice(0, 3))} ms`,
    );
    expect(scrolled.tasks[0]).toBeLessThan(FRAME * SLOWER);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows a reply of 2,000 tokens without long frames', { timeout: 120_000 }, async () => {
    const paragraph = 'Some *words* of a paragraph with `code` and **more** of them in it, and $x^2$ too.\n\n';
    model.reply(() => paragraph.repeat(120) + '```rust\nlet a = 1;\n```\n', 1);
    const { page, problems, context } = await openPage(`${served.url}#/c/${id}`);
    await page.selectOption('.model-choice', 'scripted');
    await page.locator('.message').last().waitFor();
    const { tasks, waits } = await busy(page, async () => {
      await page.fill('#composer', 'Write');
      await page.press('#composer', 'Enter');
      await page.locator('.pending.assistant').waitFor();
      await page.locator('.pending').first().waitFor({ state: 'detached', timeout: 60_000 });
    });
    console.log(
      `2,000 tokens: the longest ${rounded(tasks.slice(0, 5))} ms of the processor, ${rounded(waits.slice(0, 3))} ms`,
    );
    expect(tasks[0]).toBeLessThan(FRAME * SLOWER);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('needs no more memory after many replies', { timeout: 170_000 }, async () => {
    model.reply((question) => `Answer to ${question}. ${'And **more** words. '.repeat(40)}`);
    const { page, problems, context } = await openPage(served.url);
    await page.selectOption('.model-choice', 'scripted');
    if (process.env['ALLOQUY_LEAK']) await leak(page);
    const kept: Kept[] = [];
    for (let at = 0; at < REPLIES; at += 1) {
      await page.fill('#composer', `Question ${at}`);
      await page.press('#composer', 'Enter');
      await page.locator('.message.assistant:not(.pending)', { hasText: `Answer to Question ${at}.` }).waitFor();
      if (at % Math.floor(REPLIES / 5) === Math.floor(REPLIES / 5) - 1) kept.push(await collected(page));
    }
    for (const { heap, nodes, listeners } of kept)
      console.log(`memory: ${(heap / 2 ** 20).toFixed(2)} MiB, ${nodes} nodes, ${listeners} listeners`);
    console.log(`over ${REPLIES} replies`);
    // The lists are full from the second time on: from then on no element is added.
    const [first, last] = [kept[1], kept.at(-1)];
    if (!first || !last) throw new Error('the memory was not read');
    const replies = REPLIES * 0.6;
    // Each reply is kept as a node of the tree: some KiB. Of few replies the rows of the outline are a part.
    expect((last.heap - first.heap) / replies).toBeLessThan(24 * 1024 * (isStrict ? 1 : 2));
    expect((last.nodes - first.nodes) / replies).toBeLessThan(20);
    expect((last.listeners - first.listeners) / replies).toBeLessThan(5);
    expect(await page.locator('.message').count()).toBeLessThan(40);
    expect(problems).toEqual([]);
    await context.close();
  });
});

/** With ALLOQUY_LEAK=1 every element that is removed is kept: the test of memory must fail then. */
function leak(page: Page): Promise<void> {
  return page.evaluate(() => {
    const removed: Node[] = [];
    Object.assign(window, { removed });
    new MutationObserver((changes) => {
      for (const change of changes) removed.push(...change.removedNodes);
    }).observe(document.body, { childList: true, subtree: true });
  });
}
