// What the panels have in common: the choice of how a prompt is shown, and how wide the panel is.
import { effect, signal } from '@preact/signals';
import { inspecting } from '../../language/inspecting';
import { IconButton } from '../Button';

export type Mode = 'tokens' | 'parts' | 'text';

export function Modes({ mode, choose }: { mode: Mode; choose: (mode: Mode) => void }) {
  const text = inspecting.value;
  const modes: [Mode, string][] = [
    ['tokens', text.asTokens],
    ['parts', text.asParts],
    ['text', text.asText],
  ];
  return (
    <div class="modes" role="group" aria-label={text.modes}>
      {modes.map(([name, label]) => (
        <button key={name} type="button" aria-pressed={mode === name} onClick={() => choose(name)}>
          {label}
        </button>
      ))}
    </div>
  );
}

const isWide = signal(false);
effect(() => {
  document.documentElement.dataset['panel'] = isWide.value ? 'wide' : 'usual';
});

/** Gives the panel half of the window, or takes it back. */
export function WideButton() {
  return (
    <IconButton
      icon="wide"
      class="wide-only"
      label={inspecting.value.wide}
      pressed={isWide.value}
      onClick={() => (isWide.value = !isWide.value)}
    />
  );
}
