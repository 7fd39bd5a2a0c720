// The address of what is shown: `#/c/CONVERSATION/NODE`, `#/SCREEN/CONVERSATION/NODE`, or `#/SCREEN/SUBJECT/NODE`.
import { signal } from '@preact/signals';

export interface Route {
  screen: string;
  conversation: string | null;
  node: string | null;
  /** What a screen beside the conversations is about: the name of a prompt or of a flow. */
  subject: string | null;
}

const NOWHERE: Route = { screen: 'conversation', conversation: null, node: null, subject: null };

/** The screens that show a conversation. */
const OF_CONVERSATIONS = ['conversation', 'answers', 'compare', 'graph'];

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
  const screen = first === 'c' ? 'conversation' : (decoded(first) ?? 'conversation');
  const node = decoded(third);
  if (OF_CONVERSATIONS.includes(screen)) return { ...NOWHERE, screen, conversation: decoded(second), node };
  return { ...NOWHERE, screen, node, subject: decoded(second) };
}

export function writeRoute(given: Partial<Route>): string {
  const route: Route = { ...NOWHERE, ...given };
  const parts = [route.screen === 'conversation' ? 'c' : route.screen, route.conversation ?? route.subject, route.node];
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
  const whole: Route = { ...NOWHERE, ...next };
  location.hash = writeRoute(whole);
  route.value = whole;
}

/** Changes the address of what is shown, which the back button does not undo. */
export function rename(next: Partial<Route>): void {
  history.replaceState(null, '', writeRoute(next));
}
