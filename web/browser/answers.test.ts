// Several answers at once, replies that a person writes or lets continue, and scores; with the mouse and the keyboard.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { AddedNodes, Conversation, TreeObject } from '../src/api/types';
import { LOOKS, violations } from './axe';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { scriptedModel, type ScriptedModel } from './model';

interface Sent {
  action?: string;
  node?: string;
  prefix?: string;
  model?: string;
  sampling?: Record<string, number>;
}

describe.skipIf(missing() !== null)('answers', () => {
  let model: ScriptedModel;
  let served: Served;
  let watched: Watched | undefined;
  let page: Page;
  let id: string;
  let question: string;
  /** What was sent to have replies. */
  let sent: Sent[];
  /** Whether the program knows how to continue replies and to score texts. */
  let isComplete: boolean;

  beforeAll(async () => {
    model = await scriptedModel();
    served = await serve(model.args);
    const { paths } = await served.api<{ paths: Record<string, unknown> }>('GET', 'openapi.json');
    isComplete = '/v1/alloquy/conversations/{id}/score' in paths;
    if (!isComplete) console.warn('this program neither continues nor scores: the tests answer for it');
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await closeBrowser();
  });
  beforeEach(async () => {
    await watched?.context.close();
    let count = 0;
    model.reply((asked) => `Reply ${(count += 1)} to ${asked}`);
    const created = await served.api<Conversation>('POST', 'v1/alloquy/conversations', { metadata: { title: 'Tea' } });
    id = created.id;
    const messages = [
      { role: 'user', content: 'Tea?' },
      { role: 'assistant', content: 'Green tea.' },
    ];
    const added = await served.api<AddedNodes>('POST', `v1/alloquy/conversations/${id}/nodes`, { messages });
    question = added.nodes[0]!.id;
    const opened = await openPage(`${served.url}#/c/${id}`);
    watched = opened;
    page = opened.page;
    await page.selectOption('.model-choice', 'scripted');
    await page.locator('.message.assistant').waitFor();
    sent = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/turns')) sent.push(request.postDataJSON() as Sent);
    });
    return () => expect(opened.problems).toEqual([]);
  });

  const messages = () => page.locator('.line .message-body').allInnerTexts();
  const tree = () => served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
  const head = async () => {
    const { head: at, nodes } = await tree();
    return nodes.find((node) => node.id === at)?.text;
  };
  const answers = () => page.locator('.answer');

  it('are written side by side, each in its own way, and one is kept', async () => {
    const words = Array.from({ length: 60 }, (_, at) => `word${at}`).join(' ');
    let count = 0;
    model.reply(() => `Number ${(count += 1)} ${words}`, 25);
    await page.locator('.message.assistant').hover();
    await page.locator('.message.assistant').getByRole('button', { name: 'Several answers' }).click();
    await page.getByLabel('How many').selectOption('4');
    await page.getByText('Model and sampling of each').click();
    await page.locator('.plan').nth(1).getByLabel('Model').selectOption('scripted');
    await page.locator('.plan').nth(1).getByLabel('Temperature').fill('0.5');
    await page.locator('.plan').nth(2).getByLabel('Seed').fill('7');
    await page.getByRole('button', { name: 'Ask for 4 answers' }).click();
    // One is stored already; all four others are written at the same time.
    await expect.poll(() => answers().count()).toBe(5);
    await expect
      .poll(() => page.locator('.answer[aria-busy="true"]', { hasText: 'word3' }).count(), { timeout: 5000 })
      .toBe(4);
    expect(sent).toHaveLength(4);
    for (const turn of sent) expect(turn).toMatchObject({ action: 'retry', node: question, model: 'scripted' });
    expect(sent.map((turn) => turn.sampling)).toEqual([undefined, { temperature: 0.5 }, { seed: 7 }, undefined]);
    await page.locator('.answer[aria-busy="false"]', { hasText: 'word59' }).nth(3).waitFor();
    // The plans are remembered, so that the same can be asked again; here they are not wanted any more.
    const third = await answers().nth(2).locator('.answer-body').innerText();
    await expect.poll(() => answers().nth(2).innerText()).toContain('temperature 0.5');
    await answers().nth(2).getByRole('button', { name: 'Keep this one' }).click();
    await expect.poll(messages).toEqual(['Tea?', third]);
    await expect.poll(head).toBe(third);
    expect((await tree()).nodes).toHaveLength(6);
    // Replies that are written at once are stored in the order in which they end.
    await page.getByText(/^[1-5] of 5$/).waitFor();
  });

  it('need no mouse, from the question to the one that is kept', async () => {
    await page.keyboard.press('i');
    await page.keyboard.type('And milk?');
    await page.keyboard.press('Alt+Enter');
    await page.getByRole('button', { name: /Ask for \d answers/ }).waitFor();
    await page.locator('.answers-tools .button:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.answer[aria-busy="false"]').nth(2).waitFor();
    await page.locator('.answer:focus').waitFor();
    await page.keyboard.press('2');
    await page.locator('.answer:focus', { hasText: 'Reply' }).waitFor();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowLeft');
    const second = await answers().nth(1).locator('.answer-body').innerText();
    await page.keyboard.press('Enter');
    await expect.poll(messages).toEqual(['Tea?', 'Green tea.', 'And milk?', second]);
    await expect.poll(head).toBe(second);
    // The same question once more, by its key.
    await page.keyboard.press('a');
    await page.locator('.answer').first().waitFor();
    expect(await answers().count()).toBe(3);
  });

  it('break no rule of accessibility in any look, while they are written and when they are', async () => {
    model.reply(() => Array.from({ length: 40 }, (_, at) => `word${at}`).join(' '), 20);
    await page.keyboard.press('Escape');
    await page.keyboard.press('a');
    await page.locator('.answers-tools .button:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.answer[aria-busy="true"]', { hasText: 'word5' }).nth(2).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.locator('.answer[aria-busy="false"]', { hasText: 'word39' }).nth(2).waitFor();
    for (const view of Object.values(LOOKS)) {
      await page.emulateMedia({ colorScheme: view.scheme ?? 'light', contrast: view.contrast ?? 'no-preference' });
      await page.setViewportSize({ width: view.width ?? 1360, height: view.height ?? 860 });
      expect(await violations(page)).toEqual([]);
    }
  });

  it('can be stopped, one or all, and what was written is kept', async () => {
    const words = Array.from({ length: 900 }, (_, at) => `word${at}`).join(' ');
    model.reply(() => words, 20);
    await page.keyboard.press('Escape');
    await page.keyboard.press('a');
    await page.locator('.answers-tools .button:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.answer[aria-busy="true"]', { hasText: 'word5' }).nth(2).waitFor();
    await page.keyboard.press('2');
    await page.keyboard.press('s');
    await page.locator('.answer', { hasText: 'Interrupted' }).waitFor();
    expect(await page.locator('.answer[aria-busy="true"]').count()).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Stop all and keep' }).click();
    await expect.poll(async () => (await tree()).nodes.length).toBe(5);
    const texts = (await tree()).nodes.filter((node) => node.status === 'interrupted').map((node) => node.text);
    expect(texts).toHaveLength(3);
    for (const text of texts) expect(text).toMatch(/^word0 word1 /);
  });

  it('that fail say why, and the others are not lost', async () => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('a');
    let isFirst = true;
    await page.route('**/turns', (route) => {
      const fails = isFirst;
      isFirst = false;
      return fails ? route.fulfill({ status: 429, json: { error: { message: 'too many' } } }) : route.continue();
    });
    await page.getByRole('button', { name: /Ask for \d answers/ }).click();
    await page.getByText('too many').waitFor();
    await page.getByText(/^Reply 2 to Tea/).waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText(/^Reply 3 to Tea/).waitFor();
    expect(await page.getByText('too many').count()).toBe(0);
    if (watched) watched.problems.length = 0;
  });

  it('can be written by a person, with the mouse', async () => {
    await page.locator('.message.assistant').hover();
    await page.locator('.message.assistant').getByRole('button', { name: 'Actions of the message' }).click();
    await page.getByRole('menuitem', { name: 'Write the reply yourself' }).click();
    await page.getByLabel('Reply', { exact: true }).fill('Black tea.');
    await page.getByRole('button', { name: 'Keep as it is' }).click();
    await expect.poll(messages).toEqual(['Tea?', 'Black tea.']);
    await page.getByText('2 of 2').waitFor();
    expect((await tree()).nodes.map((node) => [node.role, node.text])).toContainEqual(['assistant', 'Black tea.']);
    expect(sent).toEqual([]);
  });

  it('can be written by a person, with the keyboard', async () => {
    await page.keyboard.press('m');
    await page.locator('.message.assistant:focus').waitFor();
    await page.keyboard.press('w');
    await page.locator('.dialog textarea:focus').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('White tea.');
    await page.keyboard.press('Control+Enter');
    await expect.poll(messages).toEqual(['Tea?', 'White tea.']);
    await expect.poll(head).toBe('White tea.');
  });

  /** Where the program cannot do it, a reply of the scripted model stands for what it would write. */
  async function answerFor(asked: (turn: Sent) => void): Promise<void> {
    await page.route('**/turns', (route) => {
      const turn = route.request().postDataJSON() as Sent;
      asked(turn);
      if (isComplete) return route.continue();
      const node = turn.action === 'continue' ? question : turn.node;
      return route.continue({ postData: JSON.stringify({ action: 'retry', node, model: 'scripted', stream: true }) });
    });
  }

  for (const way of ['mouse', 'keyboard']) {
    it(`begun by a person are continued by the model, with the ${way}`, async () => {
      if (isComplete) await page.selectOption('.model-choice', 'pocket');
      const turns: Sent[] = [];
      await answerFor((turn) => turns.push(turn));
      await page.locator('.message.assistant').click();
      await page.keyboard.press('w');
      await page.locator('.dialog textarea:focus').waitFor();
      await page.getByLabel('Reply', { exact: true }).fill('Sure, tea');
      if (way === 'mouse') await page.getByRole('button', { name: 'Let the model continue it' }).click();
      else await page.keyboard.press('Control+Shift+Enter');
      await page.getByText('2 of 2').waitFor();
      expect(turns).toHaveLength(1);
      expect(turns[0]).toMatchObject({ action: 'retry', node: question, prefix: 'Sure, tea' });
      if (isComplete) expect((await tree()).nodes[2]?.text).toMatch(/^Sure, tea./);
    });

    it(`that were cut are continued, with the ${way}`, async () => {
      const { nodes } = await tree();
      if (isComplete) await page.selectOption('.model-choice', 'pocket');
      const turns: Sent[] = [];
      await answerFor((turn) => turns.push(turn));
      if (way === 'mouse') {
        await page.locator('.message.assistant').hover();
        await page.locator('.message.assistant').getByRole('button', { name: 'Actions of the message' }).click();
        await page.getByRole('menuitem', { name: 'Continue this reply' }).click();
      } else {
        await page.keyboard.press('m');
        await page.locator('.message.assistant:focus').waitFor();
        await page.keyboard.press('o');
      }
      await page.getByText('2 of 2').waitFor();
      expect(turns).toHaveLength(1);
      expect(turns[0]).toMatchObject({ action: 'continue', node: nodes[1]!.id });
      if (!isComplete) return;
      // The model may find that nothing follows.
      const continued = (await tree()).nodes[2];
      expect(continued?.parent).toBe(question);
      expect(continued?.text).toMatch(/^Green tea\./);
    });

    it(`are scored, with the ${way}`, async () => {
      const asked: unknown[] = [];
      await page.route('**/score', (route) => {
        const body = route.request().postDataJSON() as { texts: string[] };
        asked.push(body);
        if (isComplete) return route.continue();
        const scores = body.texts.map((text) => ({ text, total: -text.length, mean: -1, tokens: [] }));
        return route.fulfill({ json: { object: 'scores', conversation: id, node: question, model: 'm', scores } });
      });
      if (isComplete) await page.selectOption('.model-choice', 'pocket');
      if (way === 'mouse') {
        await page.locator('.message.assistant').hover();
        await page.locator('.message.assistant').getByRole('button', { name: 'Actions of the message' }).click();
        await page.getByRole('menuitem', { name: 'Score alternatives' }).click();
        await page.getByLabel(/^Texts/).fill('Black tea, of course.\n---\nNo.');
        await page.getByRole('button', { name: 'Score', exact: true }).click();
      } else {
        await page.keyboard.press('m');
        await page.locator('.message.assistant:focus').waitFor();
        await page.keyboard.press('s');
        await page.locator('.dialog textarea:focus').waitFor();
        await page.keyboard.type('Black tea, of course.');
        await page.keyboard.press('Enter');
        await page.keyboard.type('---');
        await page.keyboard.press('Enter');
        await page.keyboard.type('No.');
        await page.keyboard.press('Control+Enter');
      }
      await page.locator('.scores tbody tr').nth(2).waitFor();
      expect(asked).toHaveLength(1);
      expect(asked[0]).toMatchObject({ node: question, texts: ['Green tea.', 'Black tea, of course.', 'No.'] });
      const rows = await page.locator('.scores tbody tr').allInnerTexts();
      if (!isComplete)
        expect(rows.map((row) => row.split('\t')[0])).toEqual(['No.', 'Green tea.', 'Black tea, of course.']);
      // The shares of all texts are a whole.
      const shares = rows.map((row) => Number(/([\d.]+)\s%/.exec(row)?.[1]));
      expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, 0);
      expect((await tree()).nodes).toHaveLength(2);
    });
  }

  it('that ended early offer to be continued', async () => {
    model.reply(() => Array.from({ length: 400 }, (_, at) => `word${at}`).join(' '), 20);
    await page.keyboard.press('r');
    await page.locator('.pending.assistant', { hasText: 'word5' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.message.assistant:not(.pending)', { hasText: 'Interrupted' }).waitFor();
    await page.getByRole('button', { name: 'Continue this reply' }).waitFor();
  });
});
