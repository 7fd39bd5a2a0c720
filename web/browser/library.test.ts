// Prompts and flows of the server, in a browser: filled in, sent, begun, answered and approved; with the mouse and the keyboard.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { FlowRun } from '../src/api/around';
import type { Conversation, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { library, servesLibraries, type Library } from './library';
import { scriptedModel, type ScriptedModel } from './model';

describe.skipIf(missing() !== null || !servesLibraries())('a library', () => {
  let files: Library;
  let model: ScriptedModel;
  let served: Served;
  let watched: Watched | undefined;
  let page: Page;

  beforeAll(async () => {
    files = await library();
    model = await scriptedModel();
    served = await serve([...model.args, ...files.args]);
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await files.close();
    await closeBrowser();
  });
  beforeEach(async () => {
    await watched?.context.close();
    watched = await openPage(served.url);
    page = watched.page;
    await page.selectOption('.model-choice', 'scripted');
    const { problems } = watched;
    return () => expect(problems.filter((text) => !text.includes('status of 404'))).toEqual([]);
  });

  const idOf = () => decodeURIComponent(/#\/c\/([^/]+)/.exec(page.url())?.[1] ?? '');
  const runOf = (id: string) => served.api<FlowRun>('GET', `v1/alloquy/flows/order/runs/${id}`);
  const present = () => page.locator('.flow-state[data-present=true] .flow-name').allTextContents();

  async function beginByKeyboard() {
    await page.press('#composer', 'Escape');
    await page.keyboard.press('F');
    await page.locator('.choices a', { hasText: 'order' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Begin', exact: true }).focus();
    await page.keyboard.press('Enter');
  }

  it('fills a prompt in, and sends it in a new conversation, with the mouse', async () => {
    await page.getByRole('link', { name: 'Prompts' }).click();
    await page.locator('.choices a', { hasText: 'ask' }).click();
    await page.locator('textarea[name=place]').fill('the castle');
    await page.getByRole('button', { name: 'Fill in' }).click();
    await page.locator('.rendered', { hasText: 'Where is the castle' }).waitFor();
    expect(await page.locator('.rendered .chip.warn').innerText()).toContain('words');
    await page.locator('textarea[name=words]').fill('3');
    await page.locator('textarea[name=home]').fill('Rome');
    await page.getByRole('button', { name: 'Send in a new conversation' }).click();
    await page.locator('.message.assistant:not(.pending)', { hasText: 'You said' }).waitFor();
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${idOf()}/tree`);
    expect(nodes[0]).toMatchObject({
      text: 'Where is the castle, in 3 words?  I come from Rome.\n',
      prompt: 'ask',
    });
  });

  it('sends a prompt in the open conversation, and begins one with a system prompt, with the keyboard', async () => {
    await page.fill('#composer', 'Hello');
    await page.press('#composer', 'Enter');
    await page.locator('.message.assistant:not(.pending)').waitFor();
    const id = idOf();
    await page.press('#composer', 'Escape');
    await page.keyboard.press('P');
    await page.locator('.choices a', { hasText: 'ask' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('textarea[name=place]').focus();
    await page.keyboard.type('the sea');
    await page.getByRole('button', { name: 'Send in the open conversation' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('.message.user', { hasText: 'Where is the sea' }).waitFor();
    expect(idOf()).toBe(id);
    await page.locator('.message.assistant:not(.pending)').nth(1).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('P');
    await page.locator('.choices a', { hasText: 'guide' }).focus();
    await page.keyboard.press('Enter');
    const city = page.locator('textarea[name=city]');
    await city.waitFor();
    expect(await city.inputValue()).toBe('Lisbon');
    await city.fill('Oslo');
    await page.getByRole('button', { name: 'Begin a conversation with it' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Ask something').waitFor();
    const conversation = await served.api<Conversation>('GET', `v1/alloquy/conversations/${idOf()}`);
    expect(conversation.preface.messages?.[0]?.parts.map((part) => part.text).join('')).toBe(
      'You are a guide to Oslo.',
    );
  });

  it('shows the versions of a prompt, of which one is chosen and sent, with the mouse', async () => {
    await page.getByRole('link', { name: 'Prompts' }).click();
    await page.locator('.choices a', { hasText: '1.10.0' }).click();
    await page.getByText('Dear {{name}}, new.').waitFor();
    await page.selectOption('.choice-head select', 'user/letter@1.9.0');
    await page.getByText('Dear {{name}}, old.').waitFor();
    await page.getByRole('button', { name: 'Send in a new conversation' }).click();
    await page.getByText('A value is needed.').waitFor();
    await page.locator('textarea[name=name]').fill('Ann');
    await page.getByRole('button', { name: 'Send in a new conversation' }).click();
    await page.locator('.message.assistant:not(.pending)', { hasText: 'You said' }).waitFor();
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${idOf()}/tree`);
    expect(nodes[0]).toMatchObject({ text: 'Dear Ann, old.', prompt: 'letter' });
  });

  it('shows the versions of a prompt, of which one is chosen and sent, with the keyboard', async () => {
    await page.press('#composer', 'Escape');
    await page.keyboard.press('P');
    await page.locator('.choices a', { hasText: 'letter' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Dear {{name}}, new.').waitFor();
    await page.locator('.choice-head select').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByText('Dear {{name}}, old.').waitFor();
    await page.locator('textarea[name=name]').focus();
    await page.keyboard.type('Bob');
    for (let stops = 0; stops < 4; stops += 1) {
      await page.keyboard.press('Tab');
      if (await page.locator('.form-foot .primary:focus').count()) break;
    }
    await page.keyboard.press('Enter');
    await page.locator('.message.assistant:not(.pending)', { hasText: 'You said' }).waitFor();
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${idOf()}/tree`);
    expect(nodes[0]).toMatchObject({ text: 'Dear Bob, old.', prompt: 'letter' });
  });

  it('draws a flow, begins it, and answers it, with the mouse', async () => {
    await page.getByRole('link', { name: 'Flows' }).click();
    await page.locator('.choices a', { hasText: 'order' }).click();
    expect(await page.locator('.flow-state').count()).toBe(7);
    expect(await page.locator('.flow-arrow').count()).toBe(8);
    expect(await present()).toEqual([]);
    await page.getByRole('button', { name: 'Begin', exact: true }).click();
    await page.getByRole('region', { name: 'Waits at drink' }).waitFor();
    expect(await present()).toEqual(['drink']);
    await page.locator('.wait textarea').fill('A tea, please');
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByRole('region', { name: 'Waits at cups' }).waitFor();
    await page.locator('.wait input').fill('12');
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByRole('region', { name: 'Waits at approval' }).waitFor();
    await page.getByText('Serve 12 cups of A tea, please?').first().waitFor();
    await page.locator('.wait input[name=by]').fill('Ann');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('It has ended.').waitFor();
    expect(await present()).toEqual(['served']);
    await page.getByRole('link', { name: 'Open its conversation' }).click();
    await page.locator('.message', { hasText: 'Here are 12 cups' }).waitFor();
    expect(await runOf(idOf())).toMatchObject({ state: 'served', variables: { cups: 12, approved: true } });
  });

  it('refuses an answer that is not expected, and is answered in its conversation with the keyboard', async () => {
    await beginByKeyboard();
    await page.getByRole('link', { name: 'Open its conversation' }).focus();
    await page.keyboard.press('Enter');
    const answer = page.locator('.flow-strip .wait textarea');
    await answer.focus();
    await page.keyboard.type('coffee');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const cups = page.locator('.flow-strip .wait input');
    await cups.focus();
    await page.keyboard.type('0');
    await page.keyboard.press('Enter');
    await page.locator('.flow-strip .field-problem').waitFor();
    watched?.problems.splice(0);
    await cups.fill('20');
    await page.keyboard.press('Enter');
    await page.locator('.flow-strip input[name=by]').focus();
    await page.keyboard.type('Bob');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.message', { hasText: 'That was too much.' }).waitFor();
    await page.locator('.flow-strip', { hasText: /ended|nothing/ }).waitFor();
    expect(await runOf(idOf())).toMatchObject({ state: 'refused', variables: { cups: 20, approved: false } });
  });

  it('takes an answer while the run is read again, and keeps it, with the keyboard', async () => {
    await beginByKeyboard();
    await page.getByRole('region', { name: 'Waits at drink' }).waitFor();
    // What the conversation reads of the run when it opens comes only after the answer.
    const held: (() => Promise<void>)[] = [];
    let isHolding = true;
    await page.route(/\/flows\/order\/runs\/[^/]+$/, async (route) => {
      if (!isHolding || route.request().method() !== 'GET') return route.continue();
      const response = await route.fetch();
      held.push(() => route.fulfill({ response }));
    });
    await page.getByRole('link', { name: 'Open its conversation' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('.flow-strip .wait textarea').focus();
    await expect.poll(() => held.length).toBeGreaterThan(0);
    isHolding = false;
    await page.keyboard.type('tea');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.flow-strip .wait input:focus').waitFor();
    for (const answerLate of held) await answerLate();
    await page.waitForTimeout(200);
    expect(await page.locator('.flow-strip .wait input:focus').count()).toBe(1);
    await page.keyboard.type('2');
    await page.keyboard.press('Enter');
    await page.locator('.message', { hasText: 'Here are 2 cups' }).waitFor();
    await page.locator('.flow-strip', { hasText: 'ended' }).waitFor();
    expect(await runOf(idOf())).toMatchObject({ state: 'served', variables: { cups: 2 } });
  });
});
