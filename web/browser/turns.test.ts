// Turns in a browser: sent, written, stopped, answered again, edited; with the mouse and with the keyboard.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { scriptedModel, type ScriptedModel } from './model';

const reason = missing();
if (reason) console.warn(`the tests in a browser do not run: ${reason}`);

describe.skipIf(reason !== null)('turns', () => {
  let model: ScriptedModel;
  let served: Served;
  let watched: Watched | undefined;
  let page: Page;

  beforeAll(async () => {
    model = await scriptedModel();
    served = await serve(model.args);
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await closeBrowser();
  });
  beforeEach(async () => {
    await watched?.context.close();
    let count = 0;
    model.reply((question) => `Reply ${(count += 1)} to ${question}.`);
    const opened = await openPage(served.url);
    watched = opened;
    page = opened.page;
    await page.selectOption('.model-choice', 'scripted');
    return () => expect(opened.problems).toEqual([]);
  });

  const messages = () => page.locator('.line .message-body').allInnerTexts();
  const id = () => decodeURIComponent(/#\/c\/([^/]+)/.exec(page.url())?.[1] ?? '');
  const tree = () => served.api<TreeObject>('GET', `v1/alloquy/conversations/${id()}/tree`);
  const head = async () => {
    const { head: at, nodes } = await tree();
    return nodes.find((node) => node.id === at)?.text;
  };

  async function ask(text: string): Promise<void> {
    const before = await page.locator('.message.assistant:not(.pending)').count();
    await page.fill('#composer', text);
    await page.press('#composer', 'Enter');
    await page.locator('.message.assistant:not(.pending)').nth(before).waitFor();
  }

  it('send a message, and show the reply while it is written', async () => {
    model.reply(() => 'One two three four five six seven eight nine ten. '.repeat(4), 30);
    await page.fill('#composer', 'Count');
    await page.click('.send');
    await page.locator('.message.pending.assistant', { hasText: 'One two' }).waitFor();
    expect(await messages()).toHaveLength(2);
    await page.locator('.message.assistant:not(.pending)').waitFor();
    expect((await messages())[1]).toMatch(/^One two.*ten\.$/);
    expect(await page.title()).toBe('Count – Alloquy');
    expect(await page.inputValue('#composer')).toBe('');
    expect(await page.locator('.sidebar .entry-title').first().innerText()).toBe('Count');
  });

  it('stop, and keep what was written', async () => {
    model.reply(() => Array.from({ length: 400 }, (_, at) => `word ${at}`).join(' '), 20);
    await page.fill('#composer', 'Write');
    await page.press('#composer', 'Enter');
    await page.locator('.pending.assistant', { hasText: 'word 5' }).waitFor();
    await page.press('#composer', 'Escape');
    await page.keyboard.press('Escape');
    await page.locator('.message.assistant:not(.pending)', { hasText: 'Interrupted' }).waitFor();
    const { nodes } = await tree();
    expect(nodes.map((node) => node.status)).toEqual(['complete', 'interrupted']);
    expect(nodes[1]?.text).toMatch(/^word 0 word 1/);
  });

  it('answer again, and go between the versions', async () => {
    await ask('Tea?');
    await page.locator('.message.assistant').hover();
    await page.locator('.message.assistant').getByRole('button', { name: 'Answer again' }).click();
    await page.getByText('2 of 2').waitFor();
    expect(await messages()).toEqual(['Tea?', 'Reply 2 to Tea?.']);
    await ask('And milk?');
    await page.getByRole('button', { name: 'Previous version' }).click();
    await expect.poll(messages).toEqual(['Tea?', 'Reply 1 to Tea?.']);
    await expect.poll(head).toBe('Reply 1 to Tea?.');
    // Back to where the other version was left.
    await page.keyboard.press(']');
    await expect.poll(messages).toEqual(['Tea?', 'Reply 2 to Tea?.', 'And milk?', 'Reply 3 to And milk?.']);
    await expect.poll(head).toBe('Reply 3 to And milk?.');
  });

  it('edit a message with the mouse, and keep the former one', async () => {
    await ask('Coffee?');
    await page.locator('.message.user').hover();
    await page.locator('.message.user').getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edit and send again').fill('Cocoa?');
    await page.locator('.editor').getByRole('button', { name: 'Send' }).click();
    await page.getByText('Reply 2 to Cocoa?.').first().waitFor();
    expect(await messages()).toEqual(['Cocoa?', 'Reply 2 to Cocoa?.']);
    expect(await page.locator('.message.user').innerText()).toContain('2 of 2');
    expect((await tree()).nodes.map((node) => node.text)).toEqual([
      'Coffee?',
      'Reply 1 to Coffee?.',
      'Cocoa?',
      'Reply 2 to Cocoa?.',
    ]);
  });

  it('need no mouse', async () => {
    await page.keyboard.press('i');
    await page.keyboard.type('Water?');
    await page.keyboard.press('Enter');
    await page.locator('.message.assistant:not(.pending)').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('r');
    await page.getByText('2 of 2').waitFor();
    await page.keyboard.press('m');
    await page.locator('.message.assistant:focus').waitFor();
    await page.keyboard.press('ArrowUp');
    await page.locator('.message.user:focus').waitFor();
    await page.keyboard.press('e');
    await page.locator('.editor textarea:focus').waitFor();
    await page.keyboard.press('End');
    await page.keyboard.type(' Cold');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Reply 3 to Water? Cold.').first().waitFor();
    expect(await messages()).toEqual(['Water? Cold', 'Reply 3 to Water? Cold.']);
    // To the tree, up to the first message, and show it.
    await page.keyboard.press('t');
    await page.locator('.row:focus').waitFor();
    await page.keyboard.press('Home');
    await page.locator('.row:focus', { hasText: /Water\?$/ }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(messages).toEqual(['Water?', 'Reply 2 to Water?.']);
    // From the first message on, another branch.
    await page.keyboard.press('c');
    await page.locator('#composer:focus').waitFor();
    await page.keyboard.type('Ice?');
    await page.keyboard.press('Enter');
    await page.getByText('Reply 4 to Ice?.').first().waitFor();
    expect(await messages()).toEqual(['Water?', 'Ice?', 'Reply 4 to Ice?.']);
  });

  it('of another window are seen, and no text is overwritten', async () => {
    await ask('First?');
    await page.fill('#composer', 'not sent yet');
    const other = await openPage(page.url());
    await other.page.selectOption('.model-choice', 'scripted');
    await other.page.locator('.message.assistant').waitFor();
    await other.page.fill('#composer', 'Second?');
    await other.page.press('#composer', 'Enter');
    await page.getByText('Reply 2 to Second?.').first().waitFor();
    expect(await messages()).toHaveLength(4);
    expect(await page.inputValue('#composer')).toBe('not sent yet');
    // While this window shows another branch, it stays there.
    await page.locator('.message.assistant').first().hover();
    await page.locator('.message.assistant').first().getByRole('button', { name: 'Answer again' }).click();
    await page.getByText('2 of 2').waitFor();
    await other.page.fill('#composer', 'Third?');
    await other.page.press('#composer', 'Enter');
    await page.locator('.row', { hasText: 'Reply 4 to Third?' }).waitFor();
    expect(await messages()).toEqual(['First?', 'Reply 3 to First?.']);
    expect(other.problems).toEqual([]);
    await other.context.close();
  });

  it('that fail say why, and can be tried again', async () => {
    model.reply(() => {
      throw new Error('down');
    });
    await page.route('**/turns', (route) =>
      route.fulfill({ status: 429, json: { error: { message: 'too many', code: 'rate' } } }),
    );
    await page.fill('#composer', 'Anything?');
    await page.press('#composer', 'Enter');
    await page.getByText('too many').waitFor();
    expect((await messages())[0]).toBe('Anything?');
    await page.unroute('**/turns');
    model.reply((question) => `Well: ${question}`);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Well: Anything?').first().waitFor();
    // The refused request is in the console.
    if (watched) watched.problems.length = 0;
  });
});
