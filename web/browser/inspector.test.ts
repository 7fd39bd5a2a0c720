// Seeing inside a reply: its prompt as it was sent, its tokens and their likelihood, what it reports; by mouse and by key.
// With ALLOQUY_SHOTS=FOLDER images are kept there.
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { PromptObject } from '../src/api/inspecting';
import type { Conversation, NewTurn, TreeObject } from '../src/api/types';
import { LOOKS, violations as broken } from './axe';
import { closeBrowser, missing, openPage, serve, type Served, type View, type Watched } from './harness';
import { longPrompt, withReports } from './inspected';

const FOLDER = process.env['ALLOQUY_SHOTS'];

async function shot(page: Page, name: string): Promise<void> {
  if (FOLDER) await page.screenshot({ path: path.join(FOLDER, `${name}.png`) });
}

/** The rules that the panel breaks: the rest of the page has tests of its own. */
async function violations(page: Page): Promise<string[]> {
  await page.waitForTimeout(200);
  return broken(page, '.panel');
}

/** The ids of all tokens that are shown, from the first to the last. */
async function shownIds(page: Page): Promise<number[]> {
  return page.locator('.token-flow .virtual').evaluate(async (list) => {
    const ids = new Map<number, number>();
    for (let top = 0; ; top += list.clientHeight / 2) {
      list.scrollTop = top;
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      for (const token of list.querySelectorAll<HTMLElement>('[data-token]'))
        ids.set(Number(token.dataset['token']), Number(token.dataset['id']));
      if (top + list.clientHeight >= list.scrollHeight) break;
    }
    return [...ids].sort(([a], [b]) => a - b).map(([, id]) => id);
  });
}

describe.skipIf(missing() !== null)('seeing inside a reply', () => {
  let served: Served;
  let watched: Watched;
  let page: Page;

  beforeAll(async () => {
    served = await serve();
    // The model is loaded by its first turn.
    const made = await served.api<Conversation>('POST', 'v1/alloquy/conversations', {});
    await served.api('POST', `v1/alloquy/conversations/${made.id}/turns`, { text: 'Hello' });
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });
  beforeEach(async () => {
    watched = await openPage(served.url);
    page = watched.page;
    await page.locator('.composer').waitFor();
  });
  afterEach(async () => {
    expect(watched.problems).toEqual([]);
    await watched.context.close();
  });

  const id = () => decodeURIComponent(/#\/c\/([^/]+)/.exec(page.url())?.[1] ?? '');
  const tree = () => served.api<TreeObject>('GET', `v1/alloquy/conversations/${id()}/tree`);
  const promptOf = (node: string) =>
    served.api<PromptObject>('GET', `v1/alloquy/conversations/${id()}/nodes/${node}/prompt`);
  const replies = async () => (await tree()).nodes.filter((node) => node.role === 'assistant');

  async function ask(text: string): Promise<void> {
    const before = await page.locator('.message.assistant:not(.pending)').count();
    await page.fill('#composer', text);
    await page.press('#composer', 'Enter');
    await page.locator('.message.assistant:not(.pending)').nth(before).waitFor();
  }

  it('the prompt has exactly the ids that the server says', { timeout: 120_000 }, async () => {
    await ask('How hot should the water be?');
    await ask('And for black tea?');
    await page.locator('.message.assistant').last().hover();
    await page.locator('.message.assistant').last().getByRole('button', { name: 'Actions of the message' }).click();
    await page.getByRole('menuitem', { name: 'Prompt as it was sent' }).click();
    await page.locator('.token').first().waitFor();
    const last = (await replies()).at(-1);
    const prompt = await promptOf(last?.id ?? '');
    expect(await shownIds(page)).toEqual(prompt.tokens.map((token) => token.id));
    await page.getByText('These are the ids that were sent.').waitFor();
    // Every token has the colour of its origin.
    const first = page.locator('[data-token="0"]');
    await page.locator('.token-flow .virtual').evaluate((list) => (list.scrollTop = 0));
    expect(await first.getAttribute('class')).toContain(`origin-${prompt.tokens[0]?.origin}`);
    await page.locator('.legend').getByRole('button', { name: 'User' }).click();
    expect(await first.getAttribute('class')).toContain('faint');
    await page.locator('.legend').getByRole('button', { name: 'User' }).click();
    await shot(page, 'prompt');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Text', exact: true }).click();
    const text = await page.locator('.prompt-text').allInnerTexts();
    expect(text.join('')).toContain('How hot should the water be?');
    await page.getByRole('button', { name: 'Parts' }).click();
    await page
      .locator('.run', { hasText: 'And for black tea?' })
      .getByRole('button', { name: 'Show its tokens' })
      .click();
    await page.locator('.token:focus').waitFor();
    expect(await page.locator('.token:focus').getAttribute('class')).toContain('origin-user');
  });

  it('the prompt is read with the keyboard', async () => {
    await ask('Green tea?');
    await page.keyboard.press('Escape');
    await page.keyboard.press('p');
    await page.locator('.token:focus').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.locator('[data-token="1"]:focus').waitFor();
    await page.keyboard.press('End');
    const count = (await promptOf('head')).tokens.length;
    await page.locator(`[data-token="${count - 1}"]:focus`).waitFor();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => page.locator('.token:focus').getAttribute('data-token')).not.toBe('0');
    await page.keyboard.press('ArrowUp');
    await page.locator('[data-token="0"]:focus').waitFor();
    expect(await page.locator('.token-about dd').nth(1).innerText()).toBe(
      await page.locator('[data-token="0"]').getAttribute('data-id'),
    );
  });

  /** Opens the tokens of a reply with its likelihood, and returns the place of one that has alternatives. */
  async function likelyReply(): Promise<number> {
    await ask('Say something about tea.');
    await page.getByRole('tab', { name: 'Tokens' }).click();
    await page.getByLabel('Report log-probabilities with new replies').check();
    await page.getByRole('button', { name: 'Answer again with them' }).click();
    await page.getByText('2 of 2').waitFor();
    await page.locator('.token.heat').nth(2).waitFor();
    return 2;
  }

  async function branched(place: number, chosen: string, sent: Promise<NewTurn>): Promise<void> {
    const [, second] = await replies();
    const ids = (await promptOf(second?.id ?? '')).reply_tokens?.map((token) => token.id) ?? [];
    const prefix = [...ids.slice(0, place), Number(chosen)];
    expect((await sent).prefix_tokens).toEqual(prefix);
    await page.getByText('3 of 3').waitFor();
    const third = (await replies()).at(-1);
    expect(third?.parent).toBe(second?.parent);
    const stored = (await promptOf(third?.id ?? '')).reply_tokens?.map((token) => token.id) ?? [];
    expect(stored.slice(0, prefix.length)).toEqual(prefix);
    await page.locator('.token.given').nth(place).waitFor();
  }

  const turnSent = () =>
    page
      .waitForRequest((request) => request.url().endsWith('/turns'))
      .then((request) => request.postDataJSON() as NewTurn);

  it('a click on an alternative branches with exactly its prefix', async () => {
    const place = await likelyReply();
    await page.locator(`[data-token="${place}"]`).click();
    await shot(page, 'tokens');
    expect(await violations(page)).toEqual([]);
    const other = page.locator('.alternatives button:enabled').first();
    const chosen = (await other.locator('.quiet').innerText()).trim();
    const sent = turnSent();
    await other.click();
    await branched(place, chosen, sent);
    await shot(page, 'tokens-branch');
  });

  it('a key on an alternative branches with exactly its prefix', async () => {
    const place = await likelyReply();
    await page.keyboard.press('Escape');
    await page.locator('.message.assistant').last().focus();
    await page.keyboard.press('x');
    await page.locator('.token:focus').waitFor();
    for (let at = 0; at < place; at += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.locator('.alternatives button:focus').waitFor();
    await page.keyboard.press('ArrowDown');
    const chosen = (await page.locator('.alternatives button:focus .quiet').innerText()).trim();
    const sent = turnSent();
    await page.keyboard.press('Enter');
    await branched(place, chosen, sent);
  });

  it('alternatives are there when the page is loaded again, and branch with exactly their prefix', async () => {
    const place = await likelyReply();
    await page.locator(`[data-token="${place}"]`).click();
    const shares = () => page.locator('.alternatives .alternative-share').allInnerTexts();
    const before = await shares();
    expect(before.length).toBeGreaterThan(2);
    await page.reload();
    await page.locator('.message.assistant').last().click();
    await page.keyboard.press('x');
    await page.locator('.token.heat').nth(place).waitFor();
    await page.locator(`[data-token="${place}"]`).click();
    expect(await shares()).toEqual(before);
    const other = page.locator('.alternatives button:enabled').first();
    const chosen = (await other.locator('.quiet').innerText()).trim();
    const sent = turnSent();
    await other.click();
    await branched(place, chosen, sent);
  });

  it('alternatives of an old reply are computed for a place, and branch with exactly its prefix', async () => {
    await ask('Say something about cups.');
    await page.locator('.message.assistant').last().focus();
    await page.keyboard.press('x');
    await page.locator('.token:focus').waitFor();
    for (let at = 0; at < 2; at += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Compute the alternatives' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.alternatives li button:focus').waitFor();
    expect(await page.locator('.alternatives li').count()).toBeGreaterThanOrEqual(8);
    expect(await violations(page)).toEqual([]);
    const chosen = (await page.locator('.alternatives button:focus .quiet').innerText()).trim();
    const [first] = await replies();
    const ids = (await promptOf(first?.id ?? '')).reply_tokens?.map((token) => token.id) ?? [];
    const sent = turnSent();
    await page.keyboard.press('Enter');
    const prefix = [...ids.slice(0, 2), Number(chosen)];
    expect((await sent).prefix_tokens).toEqual(prefix);
    await page.getByText('2 of 2').waitFor();
    const branch = (await replies()).at(-1);
    const stored = (await promptOf(branch?.id ?? '')).reply_tokens?.map((token) => token.id) ?? [];
    expect(stored.slice(0, prefix.length)).toEqual(prefix);
  });

  it('the likelihood of tokens breaks no rule of accessibility in any look', { timeout: 120_000 }, async () => {
    const place = await likelyReply();
    await page.locator(`[data-token="${place}"]`).click();
    await page.locator('.alternatives li').first().waitFor();
    for (const [look, view] of Object.entries(LOOKS)) {
      await page.emulateMedia({ colorScheme: view.scheme ?? 'light', contrast: view.contrast ?? 'no-preference' });
      await page.setViewportSize({ width: view.width ?? 1360, height: view.height ?? 860 });
      await shot(page, `tokens-${look}`);
      expect(await violations(page)).toEqual([]);
    }
  });

  it('the likelihood of a reply is computed afterwards', async () => {
    await ask('Milk?');
    await page.getByRole('tab', { name: 'Tokens' }).click();
    await page.getByRole('button', { name: 'Compute them' }).click();
    await page.locator('.token.heat').first().waitFor();
    await page.getByText(/^Perplexity/).waitFor();
  });

  it.each(['mouse', 'keyboard'])('the time of a turn is a waterfall, with the %s', async (way) => {
    await ask('When?');
    await page.keyboard.press('Escape');
    if (way === 'mouse') await page.getByRole('tab', { name: 'Details' }).click();
    else await page.keyboard.press('v');
    await page.locator('.waterfall-bar.decode').waitFor();
    const names = await page.locator('.waterfall-name').allInnerTexts();
    // The engine within the program measures its calls.
    expect(names).toEqual(expect.arrayContaining(['Queue', 'Prompt', 'Writing']));
    await page.getByText('The engine measured the calls of the model', { exact: false }).waitFor();
    expect(await page.locator('.costs thead th').allInnerTexts()).toEqual([
      'This reply',
      'This branch',
      'All branches',
    ]);
    await shot(page, 'details');
    expect(await violations(page)).toEqual([]);
    // They are there when the page is loaded again, and gone with the window.
    const times = await page.locator('.waterfall').innerText();
    await page.reload();
    await page.locator('.message.assistant').last().click();
    await page.keyboard.press('v');
    await page.locator('.waterfall-bar.decode').waitFor();
    expect(await page.locator('.waterfall').innerText()).toBe(times);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.locator('.message.assistant').last().click();
    await other.keyboard.press('v');
    await other.getByText('Known only for replies that were written in this window.').waitFor();
    await other.close();
  });
});

describe.skipIf(missing() !== null)('what a reply reports', () => {
  let served: Served;
  let id: string;
  let last: string;

  beforeAll(async () => {
    served = await serve();
    ({ id } = await served.api<Conversation>('POST', 'v1/alloquy/conversations', { metadata: { title: 'Reports' } }));
    const call = { id: 'call_1', type: 'function', function: { name: 'search_tea', arguments: '{}' } };
    const messages = [
      { role: 'user', content: 'How hot?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'found' },
      { role: 'assistant', content: 'At 75 °C [1], and not hotter [1, 9].' },
    ];
    await served.api('POST', `v1/alloquy/conversations/${id}/nodes`, { messages });
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
    last = nodes.at(-1)?.id ?? '';
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });

  async function opened(view: View = {}, count = 63): Promise<Watched> {
    const watched = await openPage(served.url, view);
    await watched.page.route('**/tree', async (route) => {
      const response = await route.fetch();
      const tree = (await response.json()) as TreeObject;
      await route.fulfill({ response, json: { ...tree, nodes: withReports(tree.nodes) } });
    });
    await watched.page.route('**/prompt', (route) => route.fulfill({ json: longPrompt(last, count) }));
    await watched.page.evaluate((hash) => (location.hash = hash), `#/c/${id}/${last}`);
    await watched.page.locator('.message.assistant').first().waitFor();
    return watched;
  }

  it('is shown with the mouse: sources, guards, warnings, reuse, and tools as trees', async () => {
    const { page, context, problems } = await opened();
    await page.getByRole('tab', { name: 'Details' }).click();
    const report = page.locator('.report');
    await report.getByText('900 tokens were requested, and the context has room for 180.').waitFor();
    await report.getByText('The reply ended before its grammar was complete.').waitFor();
    await report.getByText('The cached tokens differ', { exact: false }).waitFor();
    expect(await report.locator('.source-list li').allInnerTexts()).toEqual([
      expect.stringContaining('cited 2×'),
      expect.stringContaining('not cited'),
    ]);
    await report.getByText('The reply cites [9], which no source has.').waitFor();
    await report.getByText('email: 2 replaced').waitFor();
    await report.getByText('The reply was valid at attempt 3.').waitFor();
    expect(await report.locator('.json').last().innerText()).toContain('letter');
    await shot(page, 'report');
    // The reply before called a tool.
    await page.locator('.message.assistant').first().click();
    await report.getByText('search_tea').waitFor();
    const result = report.locator('.json').last();
    expect(await result.innerText()).toContain('celsius');
    await result.locator('summary', { hasText: '0' }).first().click();
    await expect.poll(() => result.innerText()).not.toContain('celsius');
    // Thinking is folded.
    const thinking = page.locator('.message .folded', { hasText: 'Thinking' });
    expect(await thinking.getAttribute('open')).toBeNull();
    expect(await thinking.getByText('I look it up.').isVisible()).toBe(false);
    await thinking.locator('summary').click();
    await thinking.getByText('I look it up.').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('is read with the keyboard: sources, guards, reuse, tools as trees, and thinking', async () => {
    const { page, context, problems } = await opened();
    const tabTo = async (of: string) => {
      for (let stops = 0; stops < 60; stops += 1) {
        if (await page.locator(`${of}:focus`).count()) return;
        await page.keyboard.press('Tab');
      }
      throw new Error(`${of} is not reached with Tab`);
    };
    await page.keyboard.press('m');
    await page.locator('.message.assistant:focus').waitFor();
    await page.keyboard.press('v');
    await page.locator('.panel-content:focus').waitFor();
    const report = page.locator('.report');
    await report.getByText('cited 2×').waitFor();
    await report.getByText('email: 2 replaced').waitFor();
    await report.getByText('The cached tokens differ', { exact: false }).waitFor();
    // The panel is long, and scrolls with the keys.
    const top = () => page.locator('.panel-content').evaluate((panel) => panel.scrollTop);
    await page.keyboard.press('End');
    await expect.poll(top).toBeGreaterThan(0);
    // Back to the reply that called a tool.
    await page.keyboard.press('m');
    await page.locator('.message.assistant:focus').waitFor();
    await page.keyboard.press('k');
    await page.keyboard.press('k');
    await page.locator('.message.assistant:focus', { hasText: 'search_tea' }).waitFor();
    await tabTo('.message .folded summary');
    const thinking = page.locator('.message .folded', { hasText: 'Thinking' });
    await page.keyboard.press('Enter');
    await thinking.getByText('I look it up.').waitFor();
    await page.keyboard.press('v');
    await report.getByText('search_tea').waitFor();
    const result = report.locator('.json').last();
    await expect.poll(() => result.innerText()).toContain('celsius');
    await tabTo('.report .json summary');
    const name = await page.locator('.report .json summary:focus').innerText();
    await page.keyboard.press('Enter');
    expect(name).toContain('{ }');
    await expect.poll(() => report.locator('.json').first().innerText()).not.toContain('green');
    expect(problems).toEqual([]);
    await context.close();
  });

  it('does not freeze with a prompt of 100,000 tokens', async () => {
    const { page, context, problems } = await opened({}, 100_000);
    await page.getByRole('tab', { name: 'Prompt' }).click();
    await page.locator('.token').first().waitFor();
    expect(await page.locator('.token').count()).toBeLessThan(3000);
    await page.locator('.token').first().click();
    const slowest = await page.evaluate(async () => {
      const list = document.querySelector('.token-flow .virtual')!;
      let longest = 0;
      for (let at = 0; at < 60; at += 1) {
        const before = performance.now();
        list.scrollTop += 900;
        await new Promise(requestAnimationFrame);
        longest = Math.max(longest, performance.now() - before);
      }
      return longest;
    });
    console.log('the longest frame, in ms:', Math.round(slowest));
    await page.locator('.token').first().focus();
    await page.keyboard.press('End');
    await page.locator('[data-token="99999"]:focus').waitFor();
    expect(await page.locator('.token').count()).toBeLessThan(3000);
    expect(await page.locator('.token-about dd').nth(1).innerText()).toBe('99999');
    for (const mode of ['Parts', 'Text']) await page.locator('.modes').getByRole('button', { name: mode }).click();
    expect(await page.locator('.span').count()).toBeLessThan(3000);
    expect(problems).toEqual([]);
    await context.close();
  });

  for (const [look, view] of Object.entries(LOOKS)) {
    it(`breaks no rule of accessibility, ${look}`, { timeout: 120_000 }, async () => {
      const { page, context } = await opened(view);
      if (look === 'phone') await page.locator('.part-bar').getByRole('button', { name: 'Tree' }).click();
      await page.getByRole('tab', { name: 'Prompt' }).click();
      await page.locator('.token').first().waitFor();
      if (look === 'dark') await page.getByRole('button', { name: 'Wide panel' }).click();
      await page.waitForTimeout(200);
      await shot(page, `prompt-${look}`);
      expect(await violations(page)).toEqual([]);
      for (const mode of look === 'light' ? ['Parts', 'Text'] : []) {
        await page.locator('.modes').getByRole('button', { name: mode }).click();
        await page
          .locator(mode === 'Parts' ? '.run' : '.span')
          .first()
          .waitFor();
        await shot(page, `${mode.toLowerCase()}-${look}`);
        expect(await violations(page)).toEqual([]);
      }
      await page.getByRole('tab', { name: 'Details' }).click();
      await page.locator('.report-part').first().waitFor();
      await shot(page, `report-${look}`);
      expect(await violations(page)).toEqual([]);
      await context.close();
    });
  }
});
