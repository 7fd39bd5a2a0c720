// All commands in one list, found by their words.
import { useState } from 'preact/hooks';
import { words } from '../language';
import { shown } from '../keys/dispatch';
import { commands, isUsable, type Command } from '../keys/map';
import { visit } from '../state/route';
import { conversations, titleOf } from '../state/list';
import { Dialog } from './Dialog';
import { overlay } from './overlays';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
/** How many conversations are among the commands. */
const CONVERSATIONS = 8;

interface Choice {
  id: string;
  label: string;
  keys: readonly string[];
  run: () => void;
}

function choices(query: string): Choice[] {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (label: string) => wanted.every((word) => label.toLowerCase().includes(word));
  const usable = commands.value.filter((command: Command) => isUsable(command) && command.id !== 'palette');
  const found = usable
    .map((command): Choice => ({ id: command.id, label: command.label(), keys: command.keys, run: command.run }))
    .filter((choice) => fits(choice.label));
  if (wanted.length === 0) return found;
  const others = conversations.value
    .map((conversation): Choice => {
      const run = () => visit({ conversation: conversation.id });
      return { id: conversation.id, label: titleOf(conversation) || words.value.untitled, keys: [], run };
    })
    .filter((choice) => fits(choice.label));
  return [...found, ...others.slice(0, CONVERSATIONS)];
}

export function Palette() {
  const [query, setQuery] = useState('');
  const [index, setIndex] = useState(0);
  const found = choices(query);
  const active = found[Math.min(index, found.length - 1)];
  const close = () => {
    overlay.value = null;
  };
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    // After the dialog has returned the focus.
    setTimeout(choice.run, 0);
  };
  return (
    <Dialog hasField title={words.value.palette} class="palette" onClose={close}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={active ? `choice-${active.id}` : undefined}
        aria-label={words.value.paletteHint}
        placeholder={words.value.paletteHint}
        value={query}
        autoFocus
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setIndex(0);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined && found.length > 0) {
            event.preventDefault();
            setIndex((Math.min(index, found.length - 1) + step + found.length) % found.length);
          }
          if (event.key === 'Enter') {
            event.preventDefault();
            choose(active);
          }
        }}
      />
      <div id="palette-list" class="palette-list" role="listbox" aria-label={words.value.palette}>
        {found.map((choice) => (
          <div
            key={choice.id}
            id={`choice-${choice.id}`}
            role="option"
            aria-selected={choice === active}
            class="choice"
            ref={(element) => {
              if (choice === active) element?.scrollIntoView({ block: 'nearest' });
            }}
            onClick={() => choose(choice)}
          >
            <span>{choice.label}</span>
            {choice.keys.map((key) => (
              <kbd key={key}>{shown(key, isMac)}</kbd>
            ))}
          </div>
        ))}
        {found.length === 0 && <p class="quiet padded">{words.value.paletteEmpty}</p>}
      </div>
    </Dialog>
  );
}
