// Branches: compared, merged, removed and put back, copied, shown alone; each with the mouse and with the keyboard.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { AddedNodes, Conversation, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { sample } from './sample';

describe.skipIf(missing() !== null)('branches', () => {
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
    await page.locator('.message', { hasText: 'Only black tea' }).click();
    return () => expect(opened.problems).toEqual([]);
  });

  const tree = () => served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
  const texts = async () => (await tree()).nodes.map((node) => node.text);
  const rows = () => page.locator('.row .row-text').allInnerTexts();
  const lastText = () => page.locator('.line .message-body').last().innerText();
  const marks = (kind: string) => page.locator(`.compare ${kind}`).allInnerTexts();

  /** Opens the menu of the last message, and chooses an entry. */
  async function choose(name: string): Promise<void> {
    const message = page.locator('.message', { hasText: 'Only black tea' });
    await message.hover();
    await message.getByRole('button', { name: 'Actions of the message' }).click();
    await page.getByRole('menuitem', { name }).click();
  }

  async function chooseOfConversation(name: string): Promise<void> {
    await page.locator('.conversation .bar').getByRole('button', { name: 'Actions of the conversation' }).click();
    await page.getByRole('menuitem', { name }).click();
  }

  it('are compared by message and by word, with the mouse', async () => {
    await choose('Compare with another branch');
    await page.getByText('3 messages in common').waitFor();
    await expect.poll(() => marks('del')).toEqual(['Only black tea, and the milk last']);
    expect(await marks('ins')).toEqual(['Milk goes in first, say some']);
    await page.getByLabel('Mark the words that differ').uncheck();
    expect(await marks('del')).toEqual([]);
    // Another branch on the right, which has more messages.
    const other = (await tree()).nodes.find((node) => node.text === 'Shorter, and a little hotter.');
    await page.getByLabel('Right branch').selectOption(other!.id);
    await page.getByText('2 messages in common').waitFor();
    await expect.poll(() => page.locator('.compare-row').count()).toBe(2);
    await page.getByRole('button', { name: 'Swap the sides' }).click();
    await expect.poll(() => page.getByLabel('Left branch').inputValue()).toBe(other!.id);
    await page.locator('.compare-side').first().getByRole('button', { name: 'Go to this branch' }).click();
    await expect.poll(lastText).toBe('Shorter, and a little hotter.');
  });

  it('are compared with the keyboard', async () => {
    await page.keyboard.press('d');
    await page.locator('.compare-row:focus').waitFor();
    expect(await marks('ins')).toEqual(['Milk goes in first, say some']);
    await page.keyboard.press('x');
    await expect.poll(() => marks('ins')).toEqual([]);
    const other = (await tree()).nodes.find((node) => node.text === 'Shorter, and a little hotter.');
    await page.getByLabel('Left branch').focus();
    await page.getByLabel('Left branch').selectOption(other!.id);
    await page.getByText('2 messages in common').waitFor();
    // Out of the list, whose letters choose in it.
    await page.keyboard.press('Tab');
    await page.keyboard.press('n');
    await page.locator('.compare-row[data-row="1"]:focus').waitFor();
    await page.keyboard.press('p');
    await page.locator('.compare-row[data-row="0"]:focus').waitFor();
  });

  /** A copy with a message of its own. */
  async function copy(): Promise<void> {
    const made = await served.api<Conversation>('POST', `v1/alloquy/conversations/${id}/fork`, {});
    const messages = [{ role: 'user', content: 'And sugar?' }];
    await served.api<AddedNodes>('POST', `v1/alloquy/conversations/${made.id}/nodes`, { messages });
    await page.locator('.entry').nth(1).waitFor();
  }

  it('of another copy are merged, with the mouse', async () => {
    await copy();
    await chooseOfConversation('Merge another copy');
    await page.getByRole('button', { name: 'Merge', exact: true }).click();
    await page.getByText('1 message was added.').waitFor();
    await page.locator('.form-foot').getByRole('button', { name: 'Close' }).click();
    await page.locator('.row', { hasText: 'And sugar?' }).waitFor();
    expect(await texts()).toContain('And sugar?');
  });

  it('of another copy are merged, with the keyboard', async () => {
    await copy();
    await page.keyboard.press('Alt+m');
    await page.locator('.dialog select:focus').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('1 message was added.').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.row', { hasText: 'And sugar?' }).waitFor();
    expect(await texts()).toContain('And sugar?');
  });

  it('are removed, and it is undone, with the mouse', async () => {
    await choose('Remove with all that follows');
    await page.getByText('One message is removed.').waitFor();
    await expect.poll(rows).not.toContain('milk');
    await page.locator('.notice').getByRole('button', { name: 'Undo' }).click();
    await expect.poll(rows).toContain('milk');
    await expect.poll(lastText).toBe('Only black tea, and the milk last.');
    expect(await texts()).toContain('Only black tea, and the milk last.');
  });

  it('are removed, and it is undone, with the keyboard', async () => {
    await page.keyboard.press('Delete');
    await page.getByText('One message is removed.').waitFor();
    await expect.poll(rows).not.toContain('milk');
    await page.keyboard.press('z');
    await expect.poll(rows).toContain('milk');
    await expect.poll(lastText).toBe('Only black tea, and the milk last.');
    expect(await texts()).toContain('Only black tea, and the milk last.');
  });

  for (const way of ['mouse', 'keyboard']) {
    it(`that were removed for good are put back or opened as they were, with the ${way}`, async () => {
      // The whole branch of the green tea: a reply with two questions and their replies.
      await page.locator('.row', { hasText: 'Green tea wants' }).click();
      await page.keyboard.press('Delete');
      await page.getByText('6 messages are removed.').waitFor();
      await expect.poll(async () => (await texts()).length, { timeout: 15_000 }).toBe(2);
      if (way === 'mouse') {
        await chooseOfConversation('Removed branches');
        await page.getByRole('button', { name: 'Open as it was, as a copy' }).click();
      } else {
        await page.keyboard.press('u');
        await page.locator('.removed li').waitFor();
        await page.getByRole('button', { name: 'Open as it was, as a copy' }).focus();
        await page.keyboard.press('Enter');
      }
      await page.getByText('The copy is open.').waitFor();
      await expect.poll(async () => (await rows()).length).toBe(8);
      await page.goBack();
      await expect.poll(async () => (await rows()).length).toBe(2);
      if (way === 'mouse') {
        await chooseOfConversation('Removed branches');
        await page.getByRole('button', { name: 'Put back' }).click();
      } else {
        await page.keyboard.press('u');
        await page.locator('.removed li').waitFor();
        await page.getByRole('button', { name: 'Put back' }).focus();
        await page.keyboard.press('Enter');
      }
      await page.getByText('6 messages are put back.').waitFor();
      const { nodes, bookmarks } = await tree();
      expect(nodes).toHaveLength(8);
      expect(nodes.find((node) => node.text.startsWith('Only black'))?.label).toBe('milk');
      expect(nodes.find((node) => node.id === bookmarks['guide'])?.text).toMatch(/^Green tea wants/);
      const parent = nodes.find((node) => node.text === 'And with milk?')?.parent;
      expect(nodes.find((node) => node.id === parent)?.text).toMatch(/^Green tea wants/);
      // It is not offered again.
      await page.keyboard.press('u');
      await page.getByText('Nothing was removed in this window.').waitFor();
    });
  }

  it('are copied to a new conversation, with the mouse and with the keyboard', async () => {
    await choose('Copy to a new conversation');
    await page.getByText('The copy is open.').waitFor();
    await expect.poll(async () => (await rows()).length).toBe(4);
    const copied = page.url();
    await page.locator('.message', { hasText: 'How hot' }).click();
    await page.keyboard.press('f');
    await expect.poll(async () => (await rows()).length).toBe(1);
    expect(page.url()).not.toBe(copied);
    const stored = async (address: string) => {
      const of = decodeURIComponent(/#\/c\/([^/]+)/.exec(address)?.[1] ?? '');
      const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${of}/tree`);
      return nodes.map((node) => node.text.slice(0, 7));
    };
    expect(await stored(copied)).toEqual(['How hot', 'Green t', 'And wit', 'Only bl']);
    expect(await stored(page.url())).toEqual(['How hot']);
  });

  it('are shown alone, with the mouse', async () => {
    await page.locator('.message', { hasText: 'And with milk?' }).first().click();
    await page.locator('.tree-tools').getByRole('button', { name: 'Show only what follows this' }).click();
    await expect.poll(rows).toEqual(['And with milk?', 'milk', 'Milk goes in first, say some.']);
    await page.locator('.hoist-note').getByRole('button', { name: 'Show the whole tree' }).click();
    await expect.poll(async () => (await rows()).length).toBe(8);
  });

  it('are shown alone, with the keyboard', async () => {
    await page.keyboard.press('k');
    await page.locator('.message.user:focus').waitFor();
    await page.keyboard.press('h');
    await expect.poll(rows).toEqual(['And with milk?', 'milk', 'Milk goes in first, say some.']);
    await page.keyboard.press('Shift+H');
    await expect.poll(async () => (await rows()).length).toBe(8);
  });

  const focused = () => page.locator('.message[data-focused="true"] .message-body').innerText();

  it('have forks, which are gone to one after the other', async () => {
    const previous = page.locator('.tree-tools').getByRole('button', { name: 'Previous fork' });
    await previous.click();
    await expect.poll(focused).toBe('And with milk?');
    await previous.click();
    await expect.poll(focused).toMatch(/^Green tea wants/);
    await previous.click();
    await page.getByText('There is no other fork on this line.').waitFor();
    await page.locator('.tree-tools').getByRole('button', { name: 'Next fork' }).click();
    await expect.poll(focused).toBe('And with milk?');
    // The same with keys.
    await page.keyboard.press('m');
    await page.locator('.message:focus').waitFor();
    await page.keyboard.press('}');
    await expect.poll(focused).toBe('Only black tea, and the milk last.');
    await page.keyboard.press('{');
    await page.keyboard.press('{');
    await expect.poll(focused).toMatch(/^Green tea wants/);
  });

  it('have bookmarks and labels, which are listed, with the mouse', async () => {
    await page.getByRole('tab', { name: 'Marks' }).click();
    await page.getByRole('button', { name: /^Go to guide/ }).click();
    await expect.poll(focused).toMatch(/^Green tea wants/);
    await page.getByRole('button', { name: 'Remove guide' }).click();
    await expect.poll(async () => (await tree()).bookmarks).toEqual({});
    await page.getByRole('button', { name: 'Remove milk' }).click();
    await page.getByText('Bookmarks and labels appear here.').waitFor();
  });

  it('have bookmarks and labels, which are listed, with the keyboard', async () => {
    await page.keyboard.press("'");
    await page.locator('.mark-go:focus', { hasText: 'guide' }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(focused).toMatch(/^Green tea wants/);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await tree()).bookmarks).toEqual({});
  });
});
