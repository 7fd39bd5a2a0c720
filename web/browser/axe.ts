// The looks in which every screen is tested, and the rules of WCAG 2.2 AA that axe finds broken in them.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import type { View } from './harness';

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export const PHONE: View = { width: 390, height: 844, isTouch: true };

/** Light, dark, high contrast in both, and a phone. */
export const LOOKS: Record<string, View> = {
  light: {},
  dark: { scheme: 'dark' },
  phone: PHONE,
  contrast: { contrast: 'more' },
  'contrast-dark': { contrast: 'more', scheme: 'dark' },
};

/** Returns a line for each rule that the page breaks, or that a part of it breaks. */
export async function violations(page: Page, part?: string): Promise<string[]> {
  const axe = new AxeBuilder({ page }).withTags(TAGS);
  if (part !== undefined) axe.include(part);
  const found = await axe.analyze();
  return found.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html.slice(0, 200)).join('; ')}`);
}
