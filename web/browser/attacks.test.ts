// A conversation that attacks the page: nothing of it runs, nothing leaves, and nothing freezes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { Conversation, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { BOMBS, SCRIPTS } from './attacks';
import { busy, rounded } from './tasks';

/** What the page may do at a time, in milliseconds of the processor. */
const LONGEST = 200;
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
      if (isForeign || (name === 'svg' && !isOwn)) found.push(element.outerHTML.slice(0, 120));
      for (const { name: attribute, value } of element.attributes) {
        if (attribute.startsWith('on') || attribute === 'srcdoc') found.push(`${name} ${attribute}`);
        const isAddress = ['href', 'src', 'action', 'formaction', 'data', 'xlink:href'].includes(attribute);
        if (isAddress && !/^(https?:\/\/|mailto:|#)/.test(value)) found.push(`${name} ${attribute}=${value}`);
      }
      if (name === 'a' && element.closest('.message') && element.getAttribute('rel') !== 'noopener noreferrer')
        found.push(element.outerHTML.slice(0, 120));
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
      const node = nodes[at]?.id ?? '';
      const { tasks, waits } = await busy(page, async () => {
        await page.evaluate((hash) => (location.hash = hash), `#/c/${id}/${node}`);
        await page
          .locator(`.message[data-node="${node}"] .message-body`)
          .waitFor({ state: 'attached', timeout: 10_000 });
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
});
