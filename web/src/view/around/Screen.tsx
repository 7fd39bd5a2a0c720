// The frame of a screen beside that of the conversation: its title, and its content in a column.
import type { ComponentChildren } from 'preact';
import { words } from '../../language';
import { toggle } from '../../state/session';
import { settings } from '../../state/settings';
import { IconButton } from '../Button';

interface Props {
  title: string;
  /** Whether it has a list on the left and something on the right. */
  isSplit?: boolean;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Screen({ title, isSplit = false, actions, children }: Props) {
  return (
    <section class="around" aria-label={title}>
      <header class="bar">
        {!settings.value.list && (
          <IconButton icon="list" label={words.value.showList} class="wide-only" onClick={() => toggle('list')} />
        )}
        <h1 id="screen-title" tabIndex={-1}>
          {title}
        </h1>
        {actions}
      </header>
      <div id="content" class="around-content" data-split={isSplit} tabIndex={-1}>
        {children}
      </div>
    </section>
  );
}
