// Which tools of the host the conversation uses, and whether their calls wait for an approval.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { hostTools, type ToolServer } from '../../api/around';
import { around } from '../../language/around';
import { client } from '../../state/connection';
import { fail } from '../../state/notices';
import { open } from '../../state/session';
import { TOOLS, toolsOfNew, usedTools, type ToolUse, type UsedTools } from '../../state/tools';
import { plainName } from '../../text/plain';
import { Dialog } from '../Dialog';
import { overlay } from '../overlays';

/** Sets whether a server is used, for the open conversation or the next new one. */
async function choose(label: string, use: ToolUse | null): Promise<void> {
  const present = open.value;
  const used = Object.entries(usedTools(present?.info.value ?? null)).filter(([other]) => other !== label);
  const next: UsedTools = Object.fromEntries(use === null ? used : [...used, [label, use] as const]);
  if (!present) {
    toolsOfNew.value = next;
    return;
  }
  try {
    const value = Object.keys(next).length === 0 ? null : next;
    const changed = await client.changeMetadata(present.id, { [TOOLS]: value });
    present.info.value = changed;
  } catch (error) {
    fail(error);
  }
}

export function ToolsDialog() {
  const text = around.value;
  const servers = useSignal<readonly ToolServer[] | null>(null);
  useEffect(() => {
    hostTools(client).then((listed) => {
      servers.value = listed;
    }, fail);
  }, []);
  const used = usedTools(open.value?.info.value ?? null);
  const known = servers.value ?? [];
  const lost = servers.value === null ? [] : Object.keys(used).filter((label) => known.every(({ id }) => id !== label));
  return (
    <Dialog
      title={text.toolsTitle}
      onClose={() => {
        overlay.value = null;
      }}
    >
      <p class="quiet">{text.toolsText}</p>
      {servers.value === null && <p class="quiet">{text.working}</p>}
      <ul class="cards">
        {known.map((server) => (
          <Server key={server.id} server={server} use={used[server.id] ?? null} />
        ))}
        {lost.map((label) => (
          <Server key={label} server={{ id: label, tools: [], error: text.toolsGone }} use={used[label] ?? null} />
        ))}
      </ul>
    </Dialog>
  );
}

function Server({ server, use }: { server: ToolServer; use: ToolUse | null }) {
  const text = around.value;
  return (
    <li class="card">
      <label class="setting">
        <strong>{plainName(server.id)}</strong>
        <select
          value={use ?? ''}
          onChange={(event) => {
            const { value } = event.currentTarget;
            void choose(server.id, value === 'always' || value === 'never' ? value : null);
          }}
        >
          <option value="">{text.toolsOff}</option>
          <option value="always">{text.toolsAsk}</option>
          <option value="never">{text.toolsRun}</option>
        </select>
      </label>
      {server.error !== null && <p class="field-problem">{plainName(server.error)}</p>}
      {server.tools.map((tool) => (
        <p key={tool.name}>
          <code>{plainName(tool.name)}</code> <span class="quiet">{plainName(tool.description)}</span>
        </p>
      ))}
    </li>
  );
}
