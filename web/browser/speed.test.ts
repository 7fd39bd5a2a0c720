// How fast the page is. The numbers are printed, not compared: machines differ. What is compared does not depend on them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeBrowser, missing, openPage, serve, type Served } from './harness';
import { scriptedModel, type ScriptedModel } from './model';

const TOKENS = 2000;
const SIBLINGS = 10_000;

/** An id that grows with its number, as those of nodes do. */
function nodeId(at: number): string {
  return `01a22474-29b6-7131-b85f-${at.toString(16).padStart(12, '0')}`;
}

describe.skipIf(missing() !== null)('speed', () => {
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

  it('a reply of 2,000 tokens keeps the blocks that have ended', async () => {
    const paragraph = 'Some *words* of a paragraph with `code` and **more** of them in it.';
    const reply = Array.from({ length: TOKENS / 12 }, (_, at) => `${at}. ${paragraph}`)
      .join('\n\n')
      .replace(/^\d+\. /gm, '');
    model.reply(() => reply, 1);
    const { page, problems, context } = await openPage(served.url);
    await page.selectOption('.model-choice', 'scripted');
    await page.evaluate(() => {
      const frames: number[] = [];
      let before = performance.now();
      const next = (now: number) => {
        frames.push(now - before);
        before = now;
        requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
      Object.assign(window, { frames });
    });
    await page.fill('#composer', 'Write');
    await page.press('#composer', 'Enter');
    const written = page.locator('.pending.assistant .markdown p');
    await expect.poll(() => written.count(), { interval: 20, timeout: 20_000 }).toBeGreaterThan(3);
    await written.first().evaluate((first) => first.setAttribute('data-kept', ''));
    await expect.poll(() => written.count(), { interval: 20, timeout: 20_000 }).toBeGreaterThan(20);
    expect(await written.first().getAttribute('data-kept')).toBe('');
    await page.locator('.message.assistant:not(.pending)').waitFor();
    const frames = await page.evaluate(() => (window as unknown as { frames: number[] }).frames);
    console.log(
      'the longest frames, in ms:',
      frames
        .sort((a, b) => b - a)
        .slice(0, 8)
        .map(Math.round)
        .join(' '),
    );
    expect(problems).toEqual([]);
    await context.close();
  });

  it('10,000 versions of a message are one fork', async () => {
    const question = { id: nodeId(0), message: { role: 'user', parts: [{ text: 'Which?' }] }, status: 'complete' };
    const versions = Array.from({ length: SIBLINGS }, (_, at) => ({
      id: nodeId(at + 1),
      parent: question.id,
      message: { role: 'assistant', parts: [{ text: `Version ${at}` }] },
      status: 'complete',
    }));
    const record = { id: 'versions', created: 1_795_907_922_000, preface: {}, head: nodeId(SIBLINGS) };
    const document = `${JSON.stringify({ alloquy_conversation: 2, record, nodes: [question, ...versions] })}\n`;
    const { imported } = await served.api<{ imported: { id: string }[] }>('POST', 'v1/alloquy/import', { document });
    const id = imported[0]?.id ?? '';
    const { page, problems, context } = await openPage(`${served.url}#/c/${id}`);
    await page.getByText(`of ${SIBLINGS}`).first().waitFor();
    expect(await page.locator('.row').count()).toBeLessThan(100);
    const begin = Date.now();
    for (let at = 0; at < 10; at += 1) await page.keyboard.press('[');
    await page.keyboard.press('t');
    await page.locator('.row:focus').waitFor();
    await page.keyboard.press('Home');
    await page.locator('.row:focus', { hasText: 'Which?' }).waitFor();
    console.log('ten versions back and to the first row, in ms:', Date.now() - begin);
    expect(problems).toEqual([]);
    await context.close();
  });
});
