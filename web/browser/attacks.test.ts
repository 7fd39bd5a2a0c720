// A conversation that attacks the page: nothing of it runs, nothing leaves, and nothing freezes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation, Node as TreeNode, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { BOMBS, SCRIPTS } from './attacks';
import { busy, rounded } from './tasks';

/** What the page may do at a time, in milliseconds of the processor; a machine for tests is slower than one for people. */
const LONGEST = process.env['ALLOQUY_STRICT'] ? 200 : 400;
/** What must not be on the page as it is. */
const SIGNS = '[\\u202a-\\u202e\\u2066-\\u2069\\u001b\\u0000]|[\\ud800-\\udbff](?![\\udc00-\\udfff])';
const SIBLINGS = 10_000;
const HTML = `<img src=x onerror="window.ran('x')"><script>window.ran('x')</script>\u202etxt\u001b[31m`;

interface Tripwire {
  ran: (what: string) => void;
  attacks: string[];
}

/** JSON of the server has no half characters; what a page makes of them is tested apart. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

/** Notes whatever runs, and whatever the policy had to refuse. */
async function trip(watched: Watched): Promise<void> {
  await watched.context.addInitScript(() => {
    const present = window as unknown as Tripwire;
    present.attacks = [];
    present.ran = (what) => present.attacks.push(`ran: ${what}`);
    for (const name of ['alert', 'confirm', 'prompt', 'open', 'print'] as const) {
      Object.defineProperty(window, name, { value: () => present.attacks.push(`called: ${name}`) });
    }
    document.addEventListener('securitypolicyviolation', (event) => {
      present.attacks.push(`refused: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  await watched.page.reload();
}

function attacks(page: Page): Promise<string[]> {
  return page.evaluate(() => (window as unknown as Tripwire).attacks);
}

/** What no text of others may have become. */
function intruders(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    for (const element of document.querySelectorAll('#app *')) {
      const name = element.localName;
      const isOwn = name === 'svg' && element.matches('.icon, .mark, .brand svg');
      const isForeign = ['script', 'img', 'iframe', 'object', 'embed', 'link', 'meta', 'base', 'style'].includes(name);
      if (isForeign || (name === 'svg' && !isOwn)) found.push((element.textContent || element.localName).slice(0, 120));
      for (const { name: attribute, value } of element.attributes) {
        if (attribute.startsWith('on') || attribute === 'srcdoc') found.push(`${name} ${attribute}`);
        const isAddress = ['href', 'src', 'action', 'formaction', 'data', 'xlink:href'].includes(attribute);
        if (isAddress && !/^(https?:\/\/|mailto:|#)/.test(value)) found.push(`${name} ${attribute}=${value}`);
      }
      if (name === 'a' && element.closest('.message') && element.getAttribute('rel') !== 'noopener noreferrer')
        found.push((element.textContent || element.localName).slice(0, 120));
    }
    return found;
  });
}

describe.skipIf(missing() !== null)('a hostile conversation', () => {
  let served: Served;

  beforeAll(async () => {
    served = await serve();
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });

  async function conversation(texts: readonly string[], title: string): Promise<Conversation> {
    const made = await served.api<Conversation>('POST', 'v1/alloquy/conversations', {
      metadata: { title },
      messages: [{ role: 'system', content: HTML }],
    });
    const messages = texts.map((content, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: wellFormed(content),
    }));
    await served.api('POST', `v1/alloquy/conversations/${made.id}/nodes`, { messages });
    return made;
  }

  async function opened(address: string): Promise<Watched> {
    const watched = await openPage(address);
    await trip(watched);
    return watched;
  }

  /** Shows one message after the other, and returns how long each kept the page busy. */
  async function walk(page: Page, id: string, names: readonly string[]): Promise<Record<string, number>> {
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
    const slow: Record<string, number> = {};
    for (const [at, name] of names.entries()) {
      if (process.env['ALLOQUY_ATTACK'] && process.env['ALLOQUY_ATTACK'] !== name) continue;
      const node = nodes[at]?.id ?? '';
      const { tasks, waits } = await busy(page, async () => {
        await page.evaluate((hash) => (location.hash = hash), `#/c/${id}/${node}`);
        await page
          .locator(`.message[data-node="${node}"] .message-body`)
          .waitFor({ state: 'attached', timeout: 10_000 })
          .catch(() => expect.unreachable(`${name} is not shown`));
        await page.evaluate(() => new Promise((done) => requestIdleCallback(done, { timeout: 3000 })));
        await page.waitForTimeout(30);
      });
      slow[name] = Math.round(tasks[0] ?? 0);
      if ((tasks[0] ?? 0) > LONGEST / 2)
        console.log(`${name}: ${rounded(tasks.slice(0, 3))} ms of the processor, ${rounded(waits.slice(0, 1))} ms`);
    }
    return slow;
  }

  it('runs nothing, and asks no other server', async () => {
    const texts = Object.values(SCRIPTS);
    const { id } = await conversation(texts, HTML);
    const { page, context, problems } = await opened(`${served.url}#/c/${id}`);
    await page.locator('.message').last().waitFor();
    await walk(page, id, Object.keys(SCRIPTS));
    // Every message is seen, and every one as an element would be pressed.
    for (const top of Array.from({ length: 12 }, (_, at) => at * 500)) {
      await page.locator('.line .virtual').evaluate((list, to) => (list.scrollTop = to), top);
      await page.evaluate(() => new Promise(requestAnimationFrame));
      expect(await intruders(page)).toEqual([]);
    }
    for (const link of await page.locator('.message-body .no-link').all()) await link.click({ force: true });
    expect(await page.locator('.message').allInnerTexts()).not.toContain('\u202e');
    expect(await attacks(page)).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('freezes nothing', { timeout: 200_000 }, async () => {
    const { id } = await conversation(Object.values(BOMBS), 'Bombs');
    const { page, context, problems } = await opened(served.url);
    await page.locator('.composer').waitFor();
    const slow = await walk(page, id, Object.keys(BOMBS));
    expect(Object.entries(slow).filter(([, time]) => time > LONGEST)).toEqual([]);
    expect(await attacks(page)).toEqual([]);
    expect(await intruders(page)).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('is no danger in labels, names, models, errors and what replies report', async () => {
    const { id } = await conversation(['question', 'answer', `again ${HTML}`, 'reply'], HTML);
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
    const of = (at: number) => nodes[at]?.id ?? '';
    const named = HTML.slice(0, 60);
    await served.api('PUT', `v1/alloquy/conversations/${id}/labels/${of(1)}`, { label: named });
    await served.api('PUT', `v1/alloquy/conversations/${id}/bookmarks/marked`, { node: of(3) });
    const watched = await openPage(served.url);
    const { page, context, problems } = watched;
    await page.route(/\/tree$/, async (route) => {
      const response = await route.fetch();
      const tree = (await response.json()) as TreeObject;
      for (const node of tree.nodes) Object.assign(node, hostileParts(node));
      // Half characters, which the server cannot send.
      await route.fulfill({ response, body: JSON.stringify(tree).replaceAll('HALF', '\\ud800') });
    });
    await page.route(/\/v1\/models$/, (route) =>
      route.fulfill({ json: { data: [{ id: HTML, alloquy: {} }], has_more: false } }),
    );
    await page.route('**/turns', (route) => route.fulfill({ status: 500, json: { error: { message: HTML } } }));
    await trip(watched);
    await page.evaluate((hash) => (location.hash = hash), `#/c/${id}/${of(3)}`);
    await page.locator('.message').last().waitFor();
    await page.evaluate(() => document.querySelectorAll('details').forEach((fold) => (fold.open = true)));
    await page.getByRole('tab', { name: 'Details' }).click();
    await page.locator('.fact').first().waitFor();
    expect(await intruders(page)).toEqual([]);
    for (const action of ['Set the label', 'Bookmark']) await inMenu(page, action);
    await page.fill('#composer', HTML);
    await page.press('#composer', 'Enter');
    await page.locator('.failure').last().waitFor();
    await page.fill('input[type=search]', 'again');
    await page.locator('.hit mark').first().waitFor();
    expect(await intruders(page)).toEqual([]);
    await page.keyboard.press('Control+k');
    await page.locator('.choice').first().waitFor();
    await page.keyboard.press('Escape');
    // What turns the direction or controls a terminal is nowhere on the page but in the field where it is written.
    const signs = await page.evaluate((source) => {
      const pattern = new RegExp(source);
      const found: string[] = [];
      for (const element of document.querySelectorAll('#app *')) {
        const own = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
        const texts = own.map((node) => node.textContent ?? '');
        if (element.localName !== 'option') texts.push(element.getAttribute('aria-label') ?? '');
        if (texts.some((text) => pattern.test(text)))
          found.push(`${element.localName}.${String(element.getAttribute('class'))}`);
      }
      return [...new Set(found)];
    }, SIGNS);
    expect(signs).toEqual([]);
    expect(await attacks(page)).toEqual([]);
    // The refused turn is in the console.
    expect(problems.filter((problem) => !problem.includes('500'))).toEqual([]);
    await context.close();
  });

  it('has 10,000 versions of a reply', { timeout: 120_000 }, async () => {
    const made = await conversation(['question'], 'Versions');
    const shallow = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${made.id}/tree`);
    const question = shallow.nodes[0];
    const watched = await openPage(served.url);
    const { page, context, problems } = watched;
    await page.route(/\/tree$/, (route) => {
      const replies = Array.from({ length: SIBLINGS }, (_, at) => {
        const id = `reply-${String(at).padStart(6, '0')}`;
        const parts = [{ text: `Version ${at}` }];
        return { ...question, id, parent: question?.id, role: 'assistant', text: `Version ${at}`, parts };
      });
      return route.fulfill({ json: { ...shallow, head: replies.at(-1)?.id, nodes: [question, ...replies] } });
    });
    await trip(watched);
    await page.locator('.composer').waitFor();
    const opening = await busy(page, async () => {
      await page.evaluate((hash) => (location.hash = hash), `#/c/${made.id}`);
      await page.getByText('10000 of 10000').or(page.getByText('10,000 of 10,000')).first().waitFor();
    });
    const stepping = await busy(page, async () => {
      for (let at = 0; at < 10; at += 1) await page.keyboard.press('[');
      await page.locator('.message', { hasText: `Version ${SIBLINGS - 11}` }).waitFor();
      await page.locator('.outline .virtual').evaluate((list) => (list.scrollTop = 100_000));
      await page.locator('.row', { hasText: 'Version 3125' }).waitFor();
    });
    console.log(`10,000 versions: opened in ${rounded(opening.tasks.slice(0, 3))} ms of the processor at a time,`);
    console.log(`stepped through in ${rounded(stepping.tasks.slice(0, 3))} ms`);
    expect(opening.tasks[0]).toBeLessThan(LONGEST);
    expect(stepping.tasks[0]).toBeLessThan(LONGEST);
    expect(problems).toEqual([]);
    await context.close();
  });
});

/** What replies can report, with a text that attacks in each place. */
function hostileParts(node: TreeNode): Partial<TreeNode> {
  if (node.role === 'user') return {};
  const call = { id: HTML, name: HTML, arguments: { [HTML]: HTML, half: 'HALF' } };
  return {
    label: HTML,
    bookmarks: [HTML],
    status: 'interrupted',
    text: `${HTML} HALF`,
    parts: [
      { text: `${HTML} HALF [x](javascript:window.ran('x'))` },
      { thinking: HTML },
      { channel: { name: HTML, text: HTML } },
      { tool_call: call },
      { tool_result: { [HTML]: HTML } },
      { malformed: { raw: HTML } },
      { image: { url: 'http://127.0.0.2:9/part' } },
      { source: HTML },
    ],
    reply: {
      model: HTML,
      finish: HTML,
      error: HTML,
      warnings: [HTML, { [HTML]: HTML }],
      facts: { [HTML]: HTML },
      system_prompt: HTML,
    },
  };
}

async function inMenu(page: Page, name: string): Promise<void> {
  await page.locator('.message').last().hover();
  await page.locator('.message').last().getByRole('button', { name: 'Actions' }).click();
  await page.getByRole('menuitem', { name: new RegExp(name) }).click();
  await page.locator('dialog[open]').waitFor();
  await page.keyboard.press('Escape');
}
