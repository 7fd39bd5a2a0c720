// What the screens beside the conversation have in common: a bar with a title and the way back, and the states of loading.
import type { ComponentChildren } from 'preact';
import { words } from '../../language';
import type { OpenConversation } from '../../state/open';
import { open, title } from '../../state/session';
import { showLine } from '../../state/steering';
import { visit } from '../../state/route';
import { IconButton } from '../Button';

interface Props {
  name: string;
  class: string;
  /** Buttons of the bar. */
  tools?: ComponentChildren;
  children: (present: OpenConversation) => ComponentChildren;
}

export function Frame({ name, tools, children, ...rest }: Props) {
  const present = open.value;
  const state = present?.state.value ?? 'missing';
  const text = words.value;
  return (
    <section class={`screen ${rest.class}`} aria-label={name}>
      <header class="bar">
        <IconButton icon="back" label={text.back} onClick={() => (present ? showLine() : visit({}))} />
        <h1 id="screen-title" tabIndex={-1} dir="auto">
          {name}
          {present && <span class="quiet"> · {title.value || text.untitled}</span>}
        </h1>
        {state === 'ready' && tools}
      </header>
      {present && state === 'ready' ? (
        children(present)
      ) : (
        <div class="empty" aria-busy={state === 'loading'}>
          <p class="quiet">{state === 'loading' ? text.loading : (present?.error.value ?? text.missing)}</p>
        </div>
      )}
    </section>
  );
}
