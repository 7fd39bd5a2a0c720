// The page for everyone: high contrast, screen readers, no mouse, little motion, narrow and enlarged windows.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import type { TreeObject } from '../src/api/types';
import { violations } from './axe';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';
import { scriptedModel, type ScriptedModel } from './model';
import { sample } from './sample';

const OVERLAYS: Record<string, string> = { 'Control+k': '.choice', '?': '.key-row', 'Control+,': '.settings' };

/** Makes every use of a mouse or a finger an error. */
async function forbidMouse(watched: Watched): Promise<void> {
  await watched.context.addInitScript(() => {
    for (const name of ['pointerdown', 'mousedown', 'touchstart', 'wheel'])
      window.addEventListener(name, () => console.error(`the mouse was used: ${name}`), true);
  });
  await watched.page.reload();
}

/** What reaches beyond the right edge of the window, without the parts that scroll by themselves. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) found.push(`the page: ${document.documentElement.scrollWidth}`);
    for (const element of document.querySelectorAll('#app *')) {
      if (element.closest('pre, .wide, .math, svg, .hidden, .skip, .code-block')) continue;
      const { right, width: own } = element.getBoundingClientRect();
      if (own > 0 && right > width + 1)
        found.push(`${element.localName}.${element.getAttribute('class') ?? ''}: ${right}`);
    }
    return found;
  });
}

describe.skipIf(missing() !== null)('access', () => {
  let model: ScriptedModel;
  let served: Served;
  let id: string;

  beforeAll(async () => {
    model = await scriptedModel();
    served = await serve(model.args);
    id = await sample(served);
  });
  afterAll(async () => {
    await served.close();
    model.close();
    await closeBrowser();
  });

  async function opened(view = {}): Promise<Watched> {
    const watched = await openPage(`${served.url}#/c/${id}`, view);
    await watched.page.locator('.message').first().waitFor();
    return watched;
  }

  for (const scheme of ['light', 'dark'] as const) {
    it(`has no violation in high contrast, ${scheme}`, async () => {
      const { page, context, problems } = await opened({ scheme });
      await page.emulateMedia({ contrast: 'more', colorScheme: scheme, reducedMotion: 'reduce' });
      await page.locator('.hljs-keyword').first().waitFor();
      expect(await violations(page)).toEqual([]);
      for (const [key, of] of Object.entries(OVERLAYS)) {
        await page.keyboard.press(key);
        await page.locator(of).first().waitFor();
        expect(await violations(page)).toEqual([]);
        await page.keyboard.press('Escape');
        await page.locator('dialog[open]').waitFor({ state: 'detached' });
      }
      await page.emulateMedia({ forcedColors: 'active' });
      expect(await violations(page)).toEqual([]);
      expect(problems).toEqual([]);
      await context.close();
    });
  }

  it('has an outline that screen readers understand', async () => {
    const { page, context } = await opened();
    await page.getByRole('treeitem').first().waitFor();
    await expect(await page.getByRole('tree').ariaSnapshot()).toMatchFileSnapshot('golden/outline.yaml');
    const rows = await page.getByRole('treeitem').evaluateAll((all) =>
      all.map((row) => {
        const of = (name: string) => row.getAttribute(`aria-${name}`) ?? '-';
        return `${of('level')} ${of('posinset')}/${of('setsize')} ${of('expanded')} ${of('label')}`;
      }),
    );
    await expect(`${rows.join('\n')}\n`).toMatchFileSnapshot('golden/rows.txt');
    expect(await page.locator('.row[tabindex="0"]').count()).toBe(1);
    await context.close();
  });

  it('needs no mouse', async () => {
    model.reply((question) => `Answer to ${question}.`);
    const watched = await openPage(served.url);
    await forbidMouse(watched);
    const { page, context, problems } = watched;
    await page.locator('#composer').waitFor();
    // The first stop of Tab leads past everything else.
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('skip');
    await page.keyboard.press('Enter');
    // What attaches a file is before the choice of the model.
    for (let stops = 0; stops < 4; stops += 1) {
      await page.keyboard.press('Tab');
      if ((await page.locator('.model-choice:focus').count()) > 0) break;
    }
    await page.locator('.model-choice:focus').waitFor();
    await page.keyboard.type('scripted');
    await expect.poll(() => page.inputValue('.model-choice')).toBe('scripted');
    // Single letters belong to the field that has the focus.
    await page.keyboard.press('Control+i');
    await page.locator('#composer:focus').waitFor();
    await page.keyboard.type('Rooibos?');
    await page.keyboard.press('Enter');
    await page.getByText('Answer to Rooibos?.').first().waitFor();
    await page.locator('.message.assistant:not(.pending)').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('r');
    await page.getByText('2 of 2').first().waitFor();
    await page.keyboard.press('l');
    await page.locator('dialog[open] input').waitFor();
    await page.keyboard.type('red');
    await page.keyboard.press('Enter');
    await page.locator('.chip.label', { hasText: 'red' }).waitFor();
    await page.keyboard.press('b');
    await page.locator('.chip.mark').waitFor();
    await page.keyboard.press('[');
    await page.getByText('1 of 2').first().waitFor();
    await page.keyboard.press('Delete');
    await page.locator('.notice').waitFor();
    // The way back can be reached with Tab.
    for (let at = 0; at < 60; at += 1) {
      await page.keyboard.press('Tab');
      if (await page.locator('.notice .text-button:focus').count()) break;
    }
    await page.keyboard.press('Enter');
    await page.getByText('of 2').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.locator('.palette input:focus').waitFor();
    await page.keyboard.type('settings');
    await page.keyboard.press('Enter');
    await page.locator('.settings').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.keyboard.type('Rooibos');
    await page.locator('.hit mark').first().waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.message.user', { hasText: 'Rooibos?' }).waitFor();
    const conversation = decodeURIComponent(/#\/c\/([^/]+)/.exec(page.url())?.[1] ?? '');
    const tree = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${conversation}/tree`);
    expect(tree.nodes.map((node) => node.label)).toContain('red');
    expect(tree.nodes).toHaveLength(3);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows where the focus is, on all that takes it', async () => {
    const { page, context } = await opened();
    const unseen: string[] = [];
    for (let at = 0; at < 60; at += 1) {
      await page.keyboard.press('Tab');
      const found = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(element);
        const around = element.closest('.composer, .search, .editor');
        const isShown =
          (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1) || boxShadow !== 'none' || around !== null;
        const { width, height } = element.getBoundingClientRect();
        const isLarge = (width >= 24 && height >= 24) || element.matches('.message-body a');
        const name = `${element.localName}.${element.getAttribute('class') ?? ''}`;
        if (!isShown) return `${name} shows no focus (${borderColor})`;
        return isLarge ? null : `${name} is ${width} by ${height}`;
      });
      if (found) unseen.push(found);
    }
    expect([...new Set(unseen)]).toEqual([]);
    await context.close();
  });

  it('says sentences, not tokens', async () => {
    model.reply(() => 'The first sentence is here. The second one follows! And the rest', 25);
    const { page, context } = await opened();
    await page.selectOption('.model-choice', 'scripted');
    await page.evaluate(() => {
      const said: string[] = [];
      Object.assign(window, { said });
      const place = document.querySelector('.hidden[role=status]');
      new MutationObserver(() => said.push(place?.textContent ?? '')).observe(place ?? document.body, {
        childList: true,
        characterData: true,
        subtree: true,
      });
    });
    await page.fill('#composer', 'Say it');
    await page.press('#composer', 'Enter');
    await page.locator('.message.assistant:not(.pending)', { hasText: 'And the rest' }).waitFor();
    await page.waitForTimeout(200);
    const said = await page.evaluate(() => (window as unknown as { said: string[] }).said);
    expect(said.filter((text) => text !== '')).toEqual([
      'The first sentence is here.',
      'The second one follows!',
      'And the rest',
    ]);
    expect(await page.locator('.line [role=log]').getAttribute('aria-live')).toBe('off');
    await context.close();
  });

  it('moves little where little motion is wanted', async () => {
    const { page, context } = await opened();
    await page.emulateMedia({ reducedMotion: 'reduce' });
    const moving = await page.evaluate(() => {
      const found: string[] = [];
      for (const element of document.querySelectorAll('*')) {
        const { transitionDuration, animationDuration, animationName } = getComputedStyle(element);
        const isLong = (text: string) => text.split(',').some((part) => parseFloat(part) > 0.02);
        if (isLong(transitionDuration)) found.push(`${element.localName}: transition of ${transitionDuration}`);
        if (animationName !== 'none' && isLong(animationDuration)) found.push(`${element.localName}: ${animationName}`);
      }
      return [...new Set(found)];
    });
    expect(moving).toEqual([]);
    await context.close();
  });

  // 1280 pixels at 200 % are 640, and at 400 % 320.
  for (const width of [320, 640]) {
    it(`fits into ${width} pixels`, async () => {
      const { page, context, problems } = await opened({ width, height: width === 320 ? 256 * 2 : 512 });
      await page.locator('math').first().waitFor();
      expect(await tooWide(page)).toEqual([]);
      for (const name of ['Conversations', 'Tree', 'Conversation']) {
        await page.locator('.part-bar').getByRole('button', { name, exact: true }).click();
        expect(await tooWide(page)).toEqual([]);
      }
      for (const [key, of] of Object.entries(OVERLAYS)) {
        await page.keyboard.press(key);
        await page.locator(of).first().waitFor();
        expect(await tooWide(page)).toEqual([]);
        await page.keyboard.press('Escape');
        await page.locator('dialog[open]').waitFor({ state: 'detached' });
      }
      expect(await violations(page)).toEqual([]);
      expect(problems).toEqual([]);
      await context.close();
    });
  }

  it('holds text that is twice as large', async () => {
    const { page, context } = await opened();
    await page.evaluate(() => (document.documentElement.style.fontSize = '200%'));
    expect(await tooWide(page)).toEqual([]);
    await page.locator('#composer').fill('It can be written in.');
    expect(await page.locator('.send').isVisible()).toBe(true);
    await context.close();
  });
});
