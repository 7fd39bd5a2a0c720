// The whole page without a mouse: into each screen and back with real keys, with the focus seen at each stop and lost at none.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { library, servesLibraries, type Library } from './library';
import { scriptedModel, type ScriptedModel } from './model';
import { sample } from './sample';

/** How many stops of Tab are looked at in each screen. */
const STOPS = 30;

/** Makes every use of a mouse or a finger an error that does nothing. */
async function forbidMouse(watched: Watched): Promise<void> {
  await watched.context.addInitScript(() => {
    const names = ['pointerdown', 'pointerup', 'mousedown', 'mouseup', 'mousemove', 'touchstart', 'wheel', 'dblclick'];
    for (const name of [...names, 'dragstart', 'contextmenu']) {
      const refuse = (event: Event) => {
        event.preventDefault();
        event.stopImmediatePropagation();
        console.error(`the mouse was used: ${name}`);
      };
      window.addEventListener(name, refuse, { capture: true, passive: false });
    }
    // A key on a button is a click too, of no pointer.
    const refuse = (event: MouseEvent) => {
      if (event.detail === 0) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      console.error('the mouse was used: click');
    };
    window.addEventListener('click', refuse, true);
  });
  await watched.page.reload();
}

interface Focus {
  name: string;
  /** Why a person cannot see it, or an empty text. */
  problem: string;
}

/** What has the focus, and whether a person sees that it has. */
function focusOf(page: Page): Promise<Focus> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return { name: 'nothing', problem: 'nothing has the focus' };
    const name = `${element.localName}#${element.id}.${element.getAttribute('class') ?? ''}`;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    const around = element.closest('.composer, .search, .editor');
    const isMarked = (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1) || boxShadow !== 'none';
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const isInside = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight && right > left && bottom > top;
    if (!element.checkVisibility()) return { name, problem: 'it is not drawn' };
    if (!isInside) return { name, problem: 'it is outside of the window' };
    return { name, problem: isMarked || around !== null ? '' : 'it does not show that it has the focus' };
  });
}

interface Place {
  name: string;
  /** The keys that lead there. */
  keys: readonly string[];
  /** What is there. */
  there: string;
  /** The keys that lead back. */
  back: readonly string[];
}

const AWAY = ['Escape', 'X'];
const LINE = ['Escape', 'm'];
const PLACES: readonly Place[] = [
  { name: 'graph', keys: ['g'], there: '.graph-area:focus', back: AWAY },
  { name: 'answers', keys: ['a'], there: '.answers-tools .button:focus', back: AWAY },
  { name: 'compare', keys: ['d'], there: '.compare-row:focus', back: AWAY },
  { name: 'tree', keys: ['t'], there: '.row:focus', back: LINE },
  { name: 'details', keys: ['v'], there: '.report', back: LINE },
  { name: 'prompt', keys: ['p'], there: '.token', back: LINE },
  { name: 'tokens', keys: ['x'], there: '#tab-reply[aria-selected=true]', back: LINE },
  { name: 'marks', keys: ["'"], there: '.mark-go:focus', back: LINE },
  { name: 'composer', keys: ['i'], there: '#composer:focus', back: ['Escape'] },
  { name: 'find', keys: ['/'], there: '.search input:focus', back: LINE },
  { name: 'search', keys: ['S'], there: '.search-words input:focus', back: AWAY },
  { name: 'prompts', keys: ['P'], there: '.choices a', back: AWAY },
  { name: 'flows', keys: ['F'], there: '.choices a', back: AWAY },
  { name: 'models', keys: ['O'], there: '.card', back: AWAY },
  { name: 'usage', keys: ['U'], there: '.costs tbody tr', back: AWAY },
  { name: 'import', keys: ['Alt+i'], there: 'dialog[open]', back: ['Escape'] },
  { name: 'settings', keys: ['Control+,'], there: '.settings', back: ['Escape'] },
  { name: 'keys', keys: ['?'], there: '.key-row', back: ['Escape'] },
  { name: 'commands', keys: ['Control+k'], there: '.palette input:focus', back: ['Escape'] },
  { name: 'merge', keys: ['Alt+m'], there: 'dialog[open]', back: ['Escape'] },
  { name: 'removed', keys: ['u'], there: 'dialog[open]', back: ['Escape'] },
  { name: 'write', keys: ['w'], there: '.dialog textarea:focus', back: ['Escape'] },
  { name: 'score', keys: ['s'], there: '.dialog textarea:focus', back: ['Escape'] },
  { name: 'label', keys: ['l'], there: '.dialog input:focus', back: ['Escape'] },
  { name: 'editor', keys: ['e'], there: '.editor textarea:focus', back: ['Escape'] },
];

describe.skipIf(missing() !== null || !servesLibraries())('without a mouse', () => {
  let files: Library;
  let model: ScriptedModel;
  let served: Served;
  let id: string;

  beforeAll(async () => {
    files = await library();
    model = await scriptedModel();
    served = await serve([...model.args, ...files.args]);
    await sample(served);
    id = await sample(served);
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await files.close();
    await closeBrowser();
  });

  async function opened(): Promise<Watched> {
    const watched = await openPage(`${served.url}#/c/${id}`);
    await forbidMouse(watched);
    await watched.page.locator('.message', { hasText: 'Only black tea' }).waitFor();
    await watched.page.keyboard.press('m');
    await watched.page.locator('.message:focus').waitFor();
    return watched;
  }

  it('the mouse is forbidden', async () => {
    const { page, problems, context } = await opened();
    const before = page.url();
    await page.locator('.places a').first().click();
    await expect.poll(() => problems).toContain('console: the mouse was used: click');
    expect(page.url()).toBe(before);
    await context.close();
  });

  it.each(PLACES)('$name is reached, gone through and left', async ({ name, keys, there, back }) => {
    const { page, context, problems } = await opened();
    const wrong: string[] = [];
    const look = async (where: string) => {
      const { name: what, problem } = await focusOf(page);
      if (problem !== '') wrong.push(`${where}: ${what}: ${problem}`);
    };
    for (const key of keys) await page.keyboard.press(key);
    await page.locator(there).first().waitFor({ state: 'attached' });
    await expect.poll(async () => (await focusOf(page)).problem).toBe('');
    const names: string[] = [];
    for (let stop = 0; stop < STOPS; stop += 1) {
      await page.keyboard.press('Tab');
      let found = await focusOf(page);
      // After the last stop comes the browser itself, and then the first one.
      if (found.name === 'nothing') {
        names.push(found.name);
        await page.keyboard.press('Tab');
        found = await focusOf(page);
      }
      names.push(found.name);
      if (found.problem !== '') wrong.push(`stop ${stop} of ${name}: ${found.name}: ${found.problem}`);
    }
    expect(new Set(names).size).toBeGreaterThan(1);
    expect(wrong).toEqual([]);
    for (const key of back) {
      await page.keyboard.press(key);
      await page.waitForTimeout(120);
      await look(`after ${key}`);
    }
    expect(wrong).toEqual([]);
    await page.locator('.line').waitFor();
    expect(await page.locator('dialog[open]').count()).toBe(0);
    // The keys are those of the conversation again.
    await page.keyboard.press('m');
    await page.locator('.message:focus').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('what has the focus is removed, and the focus is not', async () => {
    const { page, context, problems } = await opened();
    const isSeen = () => expect.poll(async () => (await focusOf(page)).problem).toBe('');
    await page.keyboard.press('Delete');
    await page.locator('.notice').waitFor();
    await page.locator('.message', { hasText: 'Only black tea' }).waitFor({ state: 'detached' });
    await isSeen();
    await page.keyboard.press('z');
    await page.locator('.message', { hasText: 'Only black tea' }).waitFor();
    await isSeen();
    await page.keyboard.press('k');
    await page.locator('.message.user:focus').waitFor();
    await page.keyboard.press('e');
    await page.locator('.editor textarea:focus').waitFor();
    await page.keyboard.type(' Or cream?');
    await page.keyboard.press('Control+Enter');
    await page.locator('.message.assistant:not(.pending)').last().waitFor();
    await page.locator('.pending').first().waitFor({ state: 'detached' });
    await isSeen();
    const texts = async () => {
      const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
      return nodes.map((node) => node.text);
    };
    await expect.poll(texts).toContain('And with milk? Or cream?');
    await isSeen();
    expect(problems).toEqual([]);
    await context.close();
  });
});
