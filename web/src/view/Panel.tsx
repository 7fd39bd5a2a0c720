// The panel on the right, with its tabs.
import { useEffect } from 'preact/hooks';
import { words } from '../language';
import { wantsFocus } from '../state/session';
import { presentTab, tabs } from './inspector';

export function Panel() {
  const all = tabs.value;
  // A tab with something better takes the focus from here.
  useEffect(() => {
    if (wantsFocus.value?.part === 'panel') document.getElementById('panel-content')?.focus();
  }, [wantsFocus.value]);
  const present = all.find((tab) => tab.id === presentTab.value) ?? all[0];
  if (!present) return null;
  const View = present.view;
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = all[(all.indexOf(present) + step + all.length) % all.length];
    if (!next) return;
    event.preventDefault();
    presentTab.value = next.id;
    requestAnimationFrame(() => document.getElementById(`tab-${next.id}`)?.focus());
  };
  return (
    <section class="panel" aria-label={words.value.panel}>
      <div class="tabs" role="tablist" aria-label={words.value.panel} onKeyDown={move}>
        {all.map((tab) => (
          <button
            key={tab.id}
            id={`tab-${tab.id}`}
            type="button"
            role="tab"
            aria-selected={tab === present}
            aria-controls="panel-content"
            tabIndex={tab === present ? 0 : -1}
            onClick={() => {
              presentTab.value = tab.id;
            }}
          >
            {tab.label()}
          </button>
        ))}
      </div>
      <div
        id="panel-content"
        class="panel-content"
        role="tabpanel"
        aria-labelledby={`tab-${present.id}`}
        tabIndex={presentTab.value === 'tree' ? -1 : 0}
      >
        <View />
      </div>
    </section>
  );
}
