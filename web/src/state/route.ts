// The address of what is shown: `#/c/CONVERSATION/NODE`, or `#/SCREEN`.
import { signal } from '@preact/signals';

export interface Route {
  screen: string;
  conversation: string | null;
  node: string | null;
}

function decoded(text: string | undefined): string | null {
  if (!text) return null;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export function readRoute(hash: string): Route {
  const [first, second, third] = hash.replace(/^#?\/?/, '').split('/');
  if (first === 'c') return { screen: 'conversation', conversation: decoded(second), node: decoded(third) };
  const screen = decoded(first) ?? 'conversation';
  return { screen, conversation: decoded(second), node: decoded(third) };
}

export function writeRoute(route: Route): string {
  const parts = [route.screen === 'conversation' ? 'c' : route.screen, route.conversation, route.node];
  if (route.screen === 'conversation' && route.conversation === null) return '#/';
  return `#/${parts
    .filter((part) => part !== null)
    .map(encodeURIComponent)
    .join('/')}`;
}

export const route = signal<Route>(typeof location === 'undefined' ? readRoute('') : readRoute(location.hash));

export function watchRoute(): void {
  window.addEventListener('hashchange', () => {
    route.value = readRoute(location.hash);
  });
}

/** Shows something else; the browser's back button returns. */
export function visit(next: Partial<Route>): void {
  const whole: Route = { screen: 'conversation', conversation: null, node: null, ...next };
  location.hash = writeRoute(whole);
  route.value = whole;
}

/** Changes the address of what is shown, which the back button does not undo. */
export function rename(next: Route): void {
  history.replaceState(null, '', writeRoute(next));
}
