// Notes, removal, copies, settings and commands; with the mouse and with the keyboard.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation, Notes, Page as ListPage, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { sample } from './sample';

describe.skipIf(missing() !== null)('notes and settings', () => {
  let served: Served;
  let watched: Watched | undefined;
  let page: Page;
  let id: string;

  beforeAll(async () => {
    served = await serve();
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });
  beforeEach(async () => {
    await watched?.context.close();
    id = await sample(served);
    const opened = await openPage(`${served.url}#/c/${id}`);
    watched = opened;
    page = opened.page;
    await page.locator('.message', { hasText: 'Only black tea' }).waitFor();
    return () => expect(opened.problems).toEqual([]);
  });

  const tree = () => served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
  const notes = () => served.api<Notes>('GET', `v1/alloquy/conversations/${id}/notes`);
  const list = () => served.api<ListPage<Conversation>>('GET', 'v1/alloquy/conversations?limit=100');
  const choose = async (button: string, item: string) => {
    await page.getByRole('button', { name: button, exact: true }).last().click();
    await page.getByRole('menuitem', { name: item }).click();
  };

  it('label and bookmark a message, with the mouse', async () => {
    await page.locator('.message', { hasText: 'Only black tea' }).hover();
    await choose('Actions of the message', 'Set the label');
    await page.getByLabel(/Label of this branch/).fill('with milk');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.chip.label', { hasText: 'with milk' }).waitFor();
    await page.locator('.message', { hasText: 'Only black tea' }).getByRole('button', { name: 'Bookmark' }).click();
    await page.locator('.message', { hasText: 'Only black tea' }).locator('.chip.mark').waitFor();
    expect(Object.values((await notes()).labels)).toEqual(['with milk']);
    expect(Object.keys((await notes()).bookmarks)).toHaveLength(2);
  });

  it('label and bookmark a message, with the keyboard', async () => {
    await page.keyboard.press('l');
    await page.getByLabel(/Label of this branch/).waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('cream');
    await page.keyboard.press('Enter');
    await page.locator('.chip.label', { hasText: 'cream' }).waitFor();
    await page.keyboard.press('b');
    await page.locator('.message', { hasText: 'Only black tea' }).locator('.chip.mark').waitFor();
    await page.keyboard.press('b');
    await page.locator('.message', { hasText: 'Only black tea' }).locator('.chip.mark').waitFor({ state: 'detached' });
    expect(Object.keys((await notes()).bookmarks)).toEqual(['guide']);
  });

  it('remove a branch, and undo it', async () => {
    await page.keyboard.press('Delete');
    await page.locator('.row', { hasText: 'milk' }).nth(2).waitFor({ state: 'detached' });
    await page.getByText('One message is removed.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.message', { hasText: 'Only black tea' }).waitFor();
    expect((await tree()).nodes).toHaveLength(8);
  });

  it('remove a branch for good, at the latest when the page is left', async () => {
    await page.locator('.message', { hasText: 'Only black tea' }).hover();
    await choose('Actions of the message', 'Remove with all that follows');
    await page.getByText('One message is removed.').waitFor();
    // The head is moved away from what is removed.
    await expect
      .poll(async () => (await tree()).nodes.find(({ text }) => text === 'And with milk?')?.id === (await tree()).head)
      .toBe(true);
    await page.goto('about:blank');
    await expect.poll(async () => (await tree()).nodes.length, { timeout: 5000 }).toBe(7);
  });

  it('rename a conversation, and delete it with a way back', async () => {
    const bar = page.locator('.conversation .bar');
    await bar.getByRole('button', { name: 'Actions of the conversation' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('Title').fill('Tea for three');
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'Tea for three' }).waitFor();
    await page.locator('.entry-title', { hasText: 'Tea for three' }).waitFor();
    await bar.getByRole('button', { name: 'Actions of the conversation' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.locator('.entry-title', { hasText: 'Tea for three' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.entry-title', { hasText: 'Tea for three' }).waitFor();
    expect((await list()).data.some((conversation) => conversation.id === id)).toBe(true);
  });

  it('export a conversation, and say what the format leaves out', async () => {
    await page.locator('.conversation .bar').getByRole('button', { name: 'Actions of the conversation' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'Export as markdown' }).click();
    const file = await (await saved).path();
    expect(await readFile(file, 'utf8')).toContain('Only black tea, and the milk last.');
    await page.getByText('This format leaves out').waitFor();
  });

  it('copy a path to a new conversation', async () => {
    await page.locator('.message', { hasText: 'Only black tea' }).hover();
    await choose('Actions of the message', 'Copy to a new conversation');
    await page.getByText('The copy is open.').waitFor();
    expect(page.url()).not.toContain(id);
    await expect.poll(() => page.locator('.row').count()).toBe(4);
  });

  it('find a message, and go to it', async () => {
    await page.keyboard.press('/');
    await page.locator('.search input:focus').waitFor();
    await page.keyboard.type('infusion');
    await page.locator('.hit mark').first().waitFor();
    await page.locator('.hit a').first().click();
    await page.locator('.message', { hasText: 'What about the second infusion?' }).waitFor();
  });

  it('find a command, and run it', async () => {
    await page.keyboard.press('Control+k');
    await page.getByLabel('Find a command').waitFor();
    await page.keyboard.type('settings');
    await page.keyboard.press('Enter');
    await page.locator('.settings').waitFor();
    await page.getByLabel('Theme').selectOption('dark');
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark');
    await page.getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
    await page.getByLabel(/Einzelne Buchstaben/).uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    expect(await page.locator('dialog').count()).toBe(0);
    await page.keyboard.press('Control+/');
    await page.getByRole('heading', { name: 'Tasten' }).waitFor();
    await page.reload();
    await page.getByPlaceholder('Alle Nachrichten durchsuchen').waitFor();
  });

  it('keep what is not sent, at its place', async () => {
    await page.fill('#composer', 'not yet');
    await page.keyboard.press('Escape');
    await page.keyboard.press(']');
    await page.locator('.message', { hasText: 'Milk goes in first' }).waitFor();
    await expect.poll(() => page.inputValue('#composer')).toBe('');
    await page.keyboard.press('[');
    await expect.poll(() => page.inputValue('#composer')).toBe('not yet');
    await page.reload();
    await expect.poll(() => page.inputValue('#composer')).toBe('not yet');
  });

  it('fold and unfold the tree with its keys', async () => {
    await page.keyboard.press('t');
    await page.locator('.row:focus').waitFor();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => page.getByRole('treeitem').count()).toBe(1);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.getByRole('treeitem').count()).toBe(8);
    expect(await page.locator('.outline').ariaSnapshot()).toContain(
      'treeitem "You: How hot should the water be?" [expanded] [level=1]',
    );
  });
});

describe.skipIf(missing() !== null)('a server with keys', () => {
  it('is asked with the key that the page was given', async () => {
    let key = '';
    const served = await serve([], async ({ run }) => {
      key = (await run(['keys', 'add', 'ann'])).trim();
    });
    const { page, problems, context } = await openPage(served.url);
    await page.getByRole('heading', { name: 'This server needs a key' }).waitFor();
    await page.locator('input[type=password]').fill('alq_wrong');
    await page.keyboard.press('Enter');
    await page.getByText('The server refused this key.').waitFor();
    await page.locator('input[type=password]').fill(key);
    await page.keyboard.press('Enter');
    await page.fill('#composer', 'What is the capital of Norway?');
    await page.keyboard.press('Enter');
    await page.locator('.message.assistant:not(.pending)', { hasText: 'Oslo' }).waitFor();
    expect(await page.evaluate(() => localStorage.length + document.cookie.length)).toBe(0);
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([]);
    await context.close();
    await served.close();
    await closeBrowser();
  });
});
