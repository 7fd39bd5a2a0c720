// Tools of the host, which a server of its own runs: switched on for a conversation, and their calls allowed and refused, with the
// mouse and the keyboard.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation, Node, TreeObject, Turn } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type View, type Watched } from './harness';
import { scriptedModel, type ScriptedModel } from './model';

/** A server of tools in a few lines, which needs no package. It writes each call to a file. */
const SKY = `
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const answers = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'sky', version: '1' } },
  'tools/list': { tools: [{ name: 'weather', description: 'Returns the weather', inputSchema: schema }] },
  'tools/call': { content: [{ type: 'text', text: 'It snows.' }] },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'tools/call') appendFileSync(process.argv[2], 'x');
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method] }));
});
`;

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const VIEWS: Record<string, View> = {
  light: {},
  dark: { scheme: 'dark' },
  phone: { width: 390, height: 844, isTouch: true },
};

const own = missing() !== null || process.env['ALLOQUY_PAGE_URL'] !== undefined;

describe.skipIf(own)('tools of the host', () => {
  let folder: string;
  let model: ScriptedModel;
  let served: Served;
  let watched: Watched | undefined;
  let page: Page;

  const noted = () => path.join(folder, 'calls');
  const calls = async () => (await readFile(noted(), 'utf8')).length;
  const dialog = () => page.getByRole('dialog', { name: 'Tools of the host' });
  const form = () => page.locator('.waiting-call');
  const idOf = () => decodeURIComponent(/#\/c\/([^/]+)/.exec(page.url())?.[1] ?? '');
  const tree = () => served.api<TreeObject>('GET', `v1/alloquy/conversations/${idOf()}/tree`);
  const of = async (role: string): Promise<Node[]> => (await tree()).nodes.filter((node) => node.role === role);

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'alloquy-sky-'));
    const program = path.join(folder, 'sky.mjs');
    await writeFile(program, SKY);
    model = await scriptedModel();
    served = await serve([...model.args, '--serve-mcp', `sky=${process.execPath} ${program} ${noted()}`]);
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await closeBrowser();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await watched?.context.close();
    await writeFile(noted(), '');
    model.call(({ tools, result }) => {
      if (result !== null || !tools.includes('weather')) return null;
      return { name: 'weather', arguments: { city: 'Oslo' } };
    });
    model.reply(() => 'So it is.');
    watched = await openPage(served.url);
    page = watched.page;
    await page.selectOption('.model-choice', 'scripted');
    const { problems } = watched;
    return () => expect(problems).toEqual([]);
  });

  /** Begins a conversation in which each call waits, and asks something. */
  async function ask(): Promise<void> {
    await page.getByRole('button', { name: 'Tools of the host' }).click();
    await dialog().getByText('Returns the weather').waitFor();
    await dialog().locator('select').selectOption({ label: 'Each call waits for me' });
    await page.keyboard.press('Escape');
    await page.fill('#composer', 'How is Oslo?');
    await page.press('#composer', 'Enter');
    await form().waitFor();
  }

  it('are called once they are allowed, with the mouse', async () => {
    await ask();
    expect(await form().innerText()).toContain('weather of sky');
    expect(await form().innerText()).toContain('"city": "Oslo"');
    expect(await calls()).toBe(0);
    const [reply] = await of('assistant');
    expect(reply?.waiting?.map((call) => [call.server_label, call.name])).toEqual([['sky', 'weather']]);
    const send = page.getByRole('button', { name: 'Send to the model' });
    expect(await send.isDisabled()).toBe(true);
    // It waits in the store: the page that is loaded again shows it.
    await page.reload();
    await form().getByText('Allow').click();
    await send.click();
    await page.locator('.message.assistant', { hasText: 'So it is.' }).waitFor();
    expect(await form().count()).toBe(0);
    const [result] = await of('tool');
    expect(JSON.stringify(result?.parts)).toContain('It snows.');
    expect((await of('assistant'))[0]?.waiting).toEqual([]);
    expect(await calls()).toBe(1);
  });

  it('are refused with a reason, with the keyboard alone', async () => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+o');
    await dialog().getByText('Returns the weather').waitFor();
    await dialog().locator('select').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    await page.locator('#composer').focus();
    await page.keyboard.type('How is Oslo?');
    await page.keyboard.press('Enter');
    await form().waitFor();
    await form().locator('input').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Tab');
    await page.keyboard.type('not now');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.message.assistant', { hasText: 'So it is.' }).waitFor();
    const [result] = await of('tool');
    expect(JSON.stringify(result?.parts)).toContain('this call was refused: not now');
    expect(await calls()).toBe(0);
  });

  it('run at once where that is chosen, and the conversation keeps the choice', async () => {
    await ask();
    await form().getByText('Refuse').click();
    await page.getByRole('button', { name: 'Send to the model' }).click();
    await page.locator('.message.assistant', { hasText: 'So it is.' }).waitFor();
    await page.getByRole('button', { name: 'Tools of the host' }).click();
    await dialog().locator('select').selectOption({ label: 'Calls run at once' });
    const kept = () => served.api<Conversation>('GET', `v1/alloquy/conversations/${idOf()}`);
    await expect.poll(async () => (await kept()).metadata['page_tools']).toEqual({ sky: 'never' });
    await page.keyboard.press('Escape');
    await page.reload();
    await page.fill('#composer', 'And now?');
    await page.press('#composer', 'Enter');
    await expect.poll(calls).toBe(1);
    await expect.poll(async () => (await of('assistant')).length).toBe(4);
    expect(await form().count()).toBe(0);
    await page.getByRole('button', { name: 'Tools of the host' }).click();
    await dialog().locator('select').selectOption({ label: 'Not used' });
    await expect.poll(async () => (await kept()).metadata['page_tools']).toBeUndefined();
  });

  it('are answered elsewhere, which the page sees', async () => {
    await ask();
    const path_ = `v1/alloquy/conversations/${idOf()}/turns`;
    const tools = [{ type: 'mcp', server_label: 'sky' }];
    const [reply] = await of('assistant');
    const approvals = [{ call_id: reply?.waiting?.[0]?.call_id, approve: true }];
    const turn = await served.api<Turn>('POST', path_, { model: 'scripted', approvals, tools });
    expect(turn.text).toBe('So it is.');
    await page.locator('.message.assistant', { hasText: 'So it is.' }).waitFor();
    await expect.poll(() => form().count()).toBe(0);
    expect(await calls()).toBe(1);
  });

  it.each(Object.entries(VIEWS))('break no rule that axe knows: %s', async (_, view) => {
    await watched?.context.close();
    watched = await openPage(served.url, view);
    page = watched.page;
    await page.selectOption('.model-choice', 'scripted');
    await page.getByRole('button', { name: 'Tools of the host' }).click();
    await dialog().getByText('Returns the weather').waitFor();
    const rules = async () => (await new AxeBuilder({ page }).withTags(TAGS).analyze()).violations.map(({ id }) => id);
    expect(await rules()).toEqual([]);
    await page.keyboard.press('Escape');
    await ask();
    await form().getByText('Refuse').click();
    expect(await rules()).toEqual([]);
    const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(width).toBeLessThanOrEqual(0);
  });

  it('speak German', async () => {
    await watched?.context.close();
    watched = await openPage(served.url, { locale: 'de-DE' });
    page = watched.page;
    await page.getByRole('button', { name: 'Werkzeuge des Servers' }).click();
    await page.locator('dialog select').selectOption({ label: 'Jeder Aufruf wartet auf mich' });
    await page.keyboard.press('Escape');
    await page.selectOption('.model-choice', 'scripted');
    await page.fill('#composer', 'Wie ist Oslo?');
    await page.press('#composer', 'Enter');
    await form().getByText('Erlauben').click();
    await page.getByRole('button', { name: 'An das Modell senden' }).click();
    await page.locator('.message.assistant', { hasText: 'So it is.' }).waitFor();
    expect(await calls()).toBe(1);
  });
});
