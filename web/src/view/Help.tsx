// The map of the keys.
import { words } from '../language';
import { shown } from '../keys/dispatch';
import { commands, type Group } from '../keys/map';
import { screenKeys } from '../keys/screens';
import { Dialog } from './Dialog';
import { overlay } from './overlays';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

interface Row {
  id: string;
  keys: readonly string[];
  label: () => string;
}

function KeyRows({ title, rows }: { title: string; rows: readonly Row[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {rows.map((row) => (
          <div key={row.id} class="key-row">
            <dt>{row.label()}</dt>
            <dd>
              {row.keys.map((key) => (
                <kbd key={key}>{shown(key, isMac)}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function rowsOfScreen(name: keyof typeof screenKeys): Row[] {
  return screenKeys[name].map(({ action, keys, label }) => ({ id: action, keys, label }));
}

export function Help() {
  const text = words.value;
  const groups: [Group, string][] = [
    ['general', text.groupGeneral],
    ['line', text.groupLine],
    ['steering', text.groupSteering],
    ['tree', text.groupTree],
  ];
  return (
    <Dialog
      title={text.help}
      class="large"
      onClose={() => {
        overlay.value = null;
      }}
    >
      <div class="key-map">
        {groups.map(([group, name]) => (
          <KeyRows
            key={group}
            title={name}
            rows={commands.value.filter((command) => command.group === group && command.keys.length > 0)}
          />
        ))}
        <KeyRows title={text.graphTitle} rows={rowsOfScreen('graph')} />
        <KeyRows title={text.answersTitle} rows={rowsOfScreen('answers')} />
        <KeyRows title={text.compareTitle} rows={rowsOfScreen('compare')} />
      </div>
      <div class="form-foot">
        <p class="quiet space">{text.helpText}</p>
        <button
          type="button"
          class="button"
          onClick={() => {
            overlay.value = null;
            // After the dialog has returned the focus.
            setTimeout(() => (overlay.value = 'palette'), 0);
          }}
        >
          {text.openRequest}
        </button>
      </div>
    </Dialog>
  );
}
