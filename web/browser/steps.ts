// Random steps that can be repeated, and the rows of the outline after them.
import type { Page } from 'playwright-core';

/** How many steps each browser does: 200 by hand. */
export const STEPS = Number(process.env['ALLOQUY_STEPS'] ?? 40);
/** What the steps depend on. */
export const SEED = Number(process.env['ALLOQUY_SEED'] ?? 7);

/** Numbers that only look random: a failure can be repeated with its seed. */
export function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export interface RowSeen {
  id: string;
  text: string;
}

/** Reads all rows of the outline, which draws only some of them at a time. What a click has folded is unfolded before. */
export function rowsOf(page: Page): Promise<RowSeen[]> {
  return page.evaluate(async () => {
    const list = document.querySelector('.outline .virtual');
    const found = new Map<string, { id: string; text: string }>();
    if (!list) return [];
    const drawn = async () => {
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
    };
    for (let top = 0; ; top += 300) {
      list.scrollTop = top;
      await drawn();
      for (;;) {
        const folded = list.querySelector<HTMLElement>('.fold[data-folded="true"]');
        if (!folded) break;
        folded.click();
        await drawn();
      }
      for (const row of list.querySelectorAll<HTMLElement>('.row')) {
        const id = row.dataset['row'] ?? '';
        const text = row.querySelector('.row-text')?.textContent ?? '';
        const isMarked = row.querySelector('.icon-bookmark') !== null;
        found.set(id, { id, text: isMarked ? `${text} *` : text });
      }
      if (top + list.clientHeight >= list.scrollHeight) return [...found.values()];
    }
  });
}
