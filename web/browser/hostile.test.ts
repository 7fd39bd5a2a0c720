// A conversation that was made to harm: nothing in it runs, nothing is fetched, and nothing freezes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { BOMBS } from './attacks';
import { scriptedModel, type ScriptedModel } from './model';
import { busy, rounded } from './tasks';

/** What the page may do at a time, in milliseconds of the processor; a machine for tests is slower than one for people. */
const LONGEST = process.env['ALLOQUY_STRICT'] ? 200 : 400;
/** What takes long to read again and again, as a model writes it. */
const WRITTEN = [
  'a line of 1 MB',
  'links that do not end',
  'open emphasis',
  'open code',
  'long code',
  'quotations in lists',
  'a wide table',
  'a long table',
  'open formulas',
  'entities',
  'only signs of direction',
];

const EVIL = 'http://evil.example';
const TEXTS: Record<string, string> = {
  script: `<script>window.hacked = 1</script> and <img src="${EVIL}/a.png" onerror="window.hacked = 1">`,
  svg: `<svg onload="window.hacked = 1"><use href="${EVIL}/b.svg#x"/></svg><iframe src="${EVIL}"></iframe>`,
  links: `[click](javascript:window.hacked=1) [data](data:text/html,<script>1</script>) [good](${EVIL}/c) ![image](${EVIL}/d.png)`,
  auto: `<javascript:alert(1)> ${EVIL}/e www.evil.example`,
  bidi: 'access \u202enimda\u202c granted \u2066x\u2069 \u200f',
  ansi: '\u001b[31mred\u001b[0m \u001b]0;title\u0007 \u0000 \u0008',
  surrogates: 'lone \ud800 and \udfff',
  math: `$\\href{javascript:window.hacked=1}{x}$ $\\class{x}{y}$ $\\htmlStyle{color:red}{z}$ $$\\def\\a{\\a\\a}\\a$$`,
  code: '```js"onclick="x\n</code></pre><script>window.hacked = 1</script>\n```',
  brackets: '['.repeat(50_000),
  stars: '*a'.repeat(50_000),
  quotes: `${'> '.repeat(3000)}x`,
  line: 'x'.repeat(1_000_000),
  words: 'word '.repeat(200_000),
  table: `|a|b|\n|-|-|\n${'|1|2|\n'.repeat(3000)}`,
};

describe.skipIf(missing() !== null)('a hostile conversation', () => {
  let model: ScriptedModel;
  let served: Served;
  let watched: Watched;
  let page: Page;
  let id: string;

  beforeAll(async () => {
    model = await scriptedModel();
    served = await serve(model.args);
    ({ id } = await served.api<Conversation>('POST', 'v1/alloquy/conversations', {
      metadata: { title: `<img src=${EVIL}/title.png> \u202eevil` },
    }));
    const messages = Object.entries(TEXTS).flatMap(([name, text]) => [
      { role: 'user', content: name },
      // What JSON cannot hold is not sent: the server has no such text either.
      { role: 'assistant', content: text.toWellFormed() },
    ]);
    await served.api('POST', `v1/alloquy/conversations/${id}/nodes`, { messages });
    watched = await openPage(`${served.url}#/c/${id}`);
    page = watched.page;
    await page.locator('.message').first().waitFor();
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await closeBrowser();
  });

  it('is shown message by message', async () => {
    await page.evaluate(() => {
      const long: number[] = [];
      Object.assign(window, { long });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) long.push(entry.duration);
      }).observe({ type: 'longtask' });
    });
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
    for (const node of nodes) {
      await page.evaluate((hash) => (location.hash = hash), `/c/${encodeURIComponent(id)}/${node.id}`);
      await page.locator(`.message[data-node="${node.id}"]`).waitFor();
      await page.waitForTimeout(120);
    }
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    const long = await page.evaluate(() => (window as unknown as { long: number[] }).long);
    console.log(
      'the longest tasks, in ms:',
      long
        .sort((a, b) => b - a)
        .slice(0, 8)
        .map(Math.round)
        .join(' '),
    );
  });

  async function show(name: string) {
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
    const node = nodes.find((entry) => entry.role === 'assistant' && entry.text === TEXTS[name]?.toWellFormed());
    await page.evaluate((hash) => (location.hash = hash), `/c/${encodeURIComponent(id)}/${node?.id}`);
    const message = page.locator(`.message[data-node="${node?.id}"] .message-body`);
    await message.waitFor();
    return message;
  }

  it('has HTML as text, and only links of the web', async () => {
    expect(await (await show('script')).innerText()).toContain('<script>window.hacked = 1</script>');
    expect(await (await show('script')).locator('script, img, iframe, svg, use').count()).toBe(0);
    const links = await show('links');
    const addresses = await links.locator('a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    expect(addresses).toEqual([`${EVIL}/c`, `${EVIL}/d.png`]);
    expect(await links.locator('a').first().getAttribute('rel')).toBe('noopener noreferrer');
    expect(await (await show('math')).locator('[href]').count()).toBe(0);
  });

  it('shows signs that change the direction, and no others', async () => {
    const bidi = await show('bidi');
    expect(await bidi.locator('.control').allInnerTexts()).toEqual(['RLO', 'PDF', 'LRI', 'PDI', 'RLM']);
    expect(await (await show('ansi')).innerText()).toMatch(/^red/);
    expect(await (await show('ansi')).innerText()).not.toContain('\u001b');
  });

  it('is cut where it is long, and more of it can be shown', async () => {
    const line = await show('line');
    expect((await line.innerText()).length).toBeLessThan(110_000);
    await line.getByRole('button', { name: /Show 900000 more/ }).click();
    await line.getByRole('button', { name: /Show 800000 more/ }).waitFor();
  });

  it('does nothing while it is written', async () => {
    model.reply(() => `${TEXTS['script']} ${TEXTS['links']} ${TEXTS['bidi']} `.repeat(5), 2);
    await page.selectOption('.model-choice', 'scripted');
    await page.fill('#composer', 'Write');
    await page.press('#composer', 'Enter');
    await page.locator('.message.assistant', { hasText: 'scripted' }).waitFor();
    await page.locator('.pending').waitFor({ state: 'detached' });
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  });

  it('freezes nothing while it is written', { timeout: 200_000 }, async () => {
    await page.selectOption('.model-choice', 'scripted');
    const slow: Record<string, number> = {};
    // Those that are stored: what is seen of a long reply may be its end, without the message before it.
    const ended = async () => {
      const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
      return nodes.filter((node) => node.text.endsWith(' It ends.')).length;
    };
    for (const [count, name] of WRITTEN.entries()) {
      model.reply(() => `${BOMBS[name] ?? expect.unreachable(`there is no ${name}`)} It ends.`);
      const { tasks } = await busy(page, async () => {
        await page.fill('#composer', name);
        await page.press('#composer', 'Enter');
        await expect.poll(ended, { timeout: 30_000 }).toBe(count + 1);
        await page.locator('.pending').first().waitFor({ state: 'detached', timeout: 30_000 });
      });
      slow[name] = Math.round(tasks[0] ?? 0);
      console.log(`${name}: ${rounded(tasks.slice(0, 3))} ms of the processor`);
    }
    expect(Object.entries(slow).filter(([, time]) => time > LONGEST)).toEqual([]);
  });

  it('sent no request elsewhere, and broke no rule of the policy', () => {
    expect(watched.problems).toEqual([]);
  });
});
