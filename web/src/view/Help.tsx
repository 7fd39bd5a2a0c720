// The map of the keys.
import { words } from '../language';
import { shown } from '../keys/dispatch';
import { commands, type Group } from '../keys/map';
import { Dialog } from './Dialog';
import { overlay } from './overlays';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

export function Help() {
  const text = words.value;
  const groups: [Group, string][] = [
    ['general', text.groupGeneral],
    ['line', text.groupLine],
    ['steering', text.groupSteering],
    ['tree', text.groupTree],
    ['screens', text.groupGraph],
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
          <section key={group}>
            <h3>{name}</h3>
            <dl>
              {commands.value
                .filter((command) => command.group === group && command.keys.length > 0)
                .map((command) => (
                  <div key={command.id} class="key-row">
                    <dt>{command.label()}</dt>
                    <dd>
                      {command.keys.map((key) => (
                        <kbd key={key}>{shown(key, isMac)}</kbd>
                      ))}
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="quiet">{text.helpText}</p>
    </Dialog>
  );
}
