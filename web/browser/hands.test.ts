// What the other files do with the mouse alone, here with the keyboard, and the other way round.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation, Page as ListPage, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { PIXEL, hearing } from './media';
import { scriptedModel, type ScriptedModel } from './model';
import { sample } from './sample';

describe.skipIf(missing() !== null)('each hand', () => {
  let model: ScriptedModel;
  let served: Served;
  let watched: Watched | undefined;
  let page: Page;
  let id: string;

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
    model.reply((question) => `Reply to ${question}`);
    id = await sample(served);
    const opened = await openPage(`${served.url}#/c/${id}`);
    watched = opened;
    page = opened.page;
    await page.locator('.message', { hasText: 'Only black tea' }).waitFor();
    await page.selectOption('.model-choice', 'scripted');
    return () => expect(opened.problems).toEqual([]);
  });

  const idOf = () => decodeURIComponent(/#\/c\/([^/]+)/.exec(page.url())?.[1] ?? '');
  const tree = () => served.api<TreeObject>('GET', `v1/alloquy/conversations/${idOf()}/tree`);
  const titles = async () => {
    const { data } = await served.api<ListPage<Conversation>>('GET', 'v1/alloquy/conversations?limit=100');
    return data.map((conversation) => conversation.metadata['title']);
  };
  const theme = () => page.evaluate(() => document.documentElement.dataset['theme']);
  const bar = () => page.locator('.conversation .bar').getByRole('button', { name: 'Actions of the conversation' });

  /** Goes to a choice of a menu with the arrow keys, and chooses it. */
  async function arrowsTo(name: string): Promise<void> {
    for (let at = 0; at < 20; at += 1) {
      const chosen = page.locator('[role=menuitem]:focus');
      await chosen.waitFor();
      if ((await chosen.innerText()).includes(name)) {
        await page.keyboard.press('Enter');
        return;
      }
      await page.keyboard.press('ArrowDown');
    }
    throw new Error(`the menu has no ${name}`);
  }

  /** Presses Tab until something has the focus. */
  async function tabTo(of: string, most = 80): Promise<void> {
    for (let at = 0; at < most; at += 1) {
      if (await page.locator(`${of}:focus`).count()) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`${of} is not reached with Tab`);
  }

  it('stops a reply and keeps it, with the mouse', async () => {
    model.reply(() => Array.from({ length: 400 }, (_, at) => `word ${at}`).join(' '), 20);
    await page.locator('#composer').click();
    await page.keyboard.insertText('Write');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.locator('.pending.assistant', { hasText: 'word 5' }).waitFor();
    await page.locator('.composer').getByRole('button', { name: 'Stop and keep' }).click();
    await page.locator('.message.assistant:not(.pending)', { hasText: 'Interrupted' }).waitFor();
    const stopped = (await tree()).nodes.find((node) => node.status === 'interrupted');
    expect(stopped?.text).toMatch(/^word 0 word 1/);
  });

  it('goes between versions, with the keyboard alone', async () => {
    const head = async () => {
      const { head: at, nodes } = await tree();
      return nodes.find((node) => node.id === at)?.text;
    };
    await page.keyboard.press(']');
    await page.locator('.message', { hasText: 'Milk goes in first' }).waitFor();
    await expect.poll(head).toBe('Milk goes in first, say some.');
    await page.keyboard.press('[');
    await page.locator('.message', { hasText: 'Only black tea' }).waitFor();
    await expect.poll(head).toBe('Only black tea, and the milk last.');
  });

  it('folds the tree and goes through it, with the mouse', async () => {
    const rows = page.getByRole('treeitem');
    await expect.poll(() => rows.count()).toBe(8);
    await rows.first().locator('.fold').click();
    await expect.poll(() => rows.count()).toBe(1);
    await rows.first().locator('.fold').click();
    await expect.poll(() => rows.count()).toBe(8);
    await page.locator('.row', { hasText: 'Shorter, and a little' }).click();
    await page.locator('.message', { hasText: 'Shorter, and a little' }).waitFor();
    const { head, nodes } = await tree();
    await expect.poll(async () => (await tree()).head !== head).toBe(true);
    expect(nodes.find((node) => node.text.startsWith('Shorter'))?.id).toBe((await tree()).head);
  });

  it('exports and renames a conversation, with the keyboard', async () => {
    await bar().focus();
    await page.keyboard.press('Enter');
    const [saved] = await Promise.all([page.waitForEvent('download'), arrowsTo('Export as markdown')]);
    expect(await readFile(await saved.path(), 'utf8')).toContain('Only black tea, and the milk last.');
    await page.getByText('This format leaves out').waitFor();
    // The focus is where it was.
    await page.locator('.conversation .bar .menu-place button:focus').waitFor();
    await page.keyboard.press('Enter');
    await arrowsTo('Rename');
    await page.getByLabel('Title').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('Tea by hand');
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'Tea by hand' }).waitFor();
    await expect.poll(titles).toContain('Tea by hand');
  });

  it('finds a message in the list, with the mouse', async () => {
    await page.getByRole('searchbox', { name: 'Search all messages' }).click();
    await page.keyboard.insertText('infusion');
    await page.locator('.hit mark').first().waitFor();
    await page.locator('.hit a').first().click();
    await page.locator('.message', { hasText: 'What about the second infusion?' }).waitFor();
  });

  it('opens the keys, and a command from there, with the mouse', async () => {
    await page.locator('.sidebar-foot').getByRole('button', { name: 'Keys', exact: true }).click();
    await page.locator('.key-row', { hasText: 'Keep this one' }).waitFor();
    await page.locator('.dialog').getByRole('button', { name: 'Commands' }).click();
    await page.locator('.palette input:focus').waitFor();
    await page.locator('.choice', { hasText: 'Show the graph' }).click();
    await page.locator('.graph-area').waitFor();
  });

  it('sets theme, contrast and language, with the mouse', async () => {
    await page.locator('.sidebar-foot').getByRole('button', { name: 'Settings', exact: true }).click();
    await page.getByLabel('Theme').selectOption('dark');
    await page.getByLabel('Contrast').selectOption('high');
    await page.getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
    await page.locator('.dialog').getByRole('button', { name: 'Schließen' }).click();
    expect(await theme()).toBe('dark');
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
    await page.reload();
    await page.locator('.message', { hasText: 'Only black tea' }).waitFor();
    expect(await theme()).toBe('dark');
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
  });

  it('sets theme and language, with the keyboard', async () => {
    await page.keyboard.press('Control+,');
    await page.locator('.settings').waitFor();
    await tabTo('.settings select');
    await page.keyboard.type('Dark');
    await expect.poll(theme).toBe('dark');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Deutsch');
    await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.locator('.message', { hasText: 'Only black tea' }).waitFor();
    expect(await theme()).toBe('dark');
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
  });

  it('sets the model and the sampling, which a turn has, with the keyboard', async () => {
    await page.keyboard.press('O');
    await page.locator('.card').first().waitFor();
    await tabTo('.card:has-text("pocket") button');
    await page.keyboard.press('Enter');
    await tabTo('input[name=temperature]');
    await page.keyboard.type('0.25');
    await tabTo('input[name=max_tokens]');
    await page.keyboard.type('5');
    await page.keyboard.press('Tab');
    await page.keyboard.type('11');
    await page.keyboard.press('Escape');
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press('X');
    await page.locator('.message', { hasText: 'Only black tea' }).waitFor();
    await page.keyboard.press('i');
    await page.keyboard.type('Hello');
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.url().endsWith('/turns')),
      page.keyboard.press('Enter'),
    ]);
    const sampling = { temperature: 0.25, max_tokens: 5, seed: 11 };
    expect(request.postDataJSON()).toMatchObject({ model: 'pocket', sampling });
    await page.locator('.message.user', { hasText: 'Hello' }).waitFor();
    await page.locator('.pending').first().waitFor({ state: 'detached' });
    const { nodes } = await tree();
    const question = nodes.find((node) => node.text === 'Hello');
    const reply = nodes.find((node) => node.parent === question?.id);
    expect(reply?.reply).toMatchObject({ model: 'pocket', seed: 11 });
    expect(reply?.reply?.usage?.generated).toBeLessThanOrEqual(5);
  });

  it('shows what was used, with the mouse', async () => {
    await page.route('**/v1/alloquy/usage', (route) =>
      route.fulfill({
        json: {
          owner: 'ann',
          limits: { calls_per_minute: 30, tokens_per_day: 10_000, running: 8, waiting: 32 },
          used: { tokens: 9000, tokens_reset: 7200, next_call: 0, running: 1, waiting: 0 },
        },
      }),
    );
    await page.getByRole('link', { name: 'Usage and costs' }).click();
    await page.getByText('9,000 of 10,000').waitFor();
    await page.locator('.costs tbody').getByRole('link', { name: 'Tea for two' }).first().click();
    await page.locator('.message').first().waitFor();
    expect(idOf()).not.toBe('');
  });

  it('shows the costs of a conversation, with the keyboard', async () => {
    await page.keyboard.press('U');
    await page.locator('.costs tbody tr').first().waitFor();
    await tabTo('.costs a');
    await page.keyboard.press('Enter');
    await page.locator('.message').first().waitFor();
    await tabTo('[role=tab]');
    for (let at = 0; at < 8 && !(await page.locator('#tab-cost:focus').count()); at += 1) {
      const before = await page.locator('[role=tab]:focus').getAttribute('id');
      await page.keyboard.press('ArrowRight');
      // The focus follows in the next frame.
      await page.locator(`[role=tab]:focus:not(#${before})`).waitFor();
    }
    await page.getByRole('region', { name: 'Whole tree' }).waitFor();
  });

  it('pastes an image from the clipboard, with the keyboard', async () => {
    await hearing(page);
    await page.reload();
    await page.selectOption('.model-choice', 'scripted');
    await page.getByRole('button', { name: 'Record with the microphone' }).waitFor();
    await page.evaluate(async (base64) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': new Blob([bytes], { type: 'image/png' }) })]);
    }, PIXEL);
    await page.locator('#composer').focus();
    await page.keyboard.press('Control+v');
    await page.locator('.attached li', { hasText: 'image.png' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.message.assistant:not(.pending)').last().waitFor();
    await page.locator('.message.user img').last().waitFor();
    const kinds = (await tree()).nodes.map((node) => node.parts.map((part) => Object.keys(part)[0]).join());
    expect(kinds).toContain('image');
  });
});
