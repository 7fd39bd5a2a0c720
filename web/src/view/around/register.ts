// Registers the screens around the conversation, their commands, and the tab of costs. Each is loaded when it is first shown.
import { words } from '../../language';
import { register, type Command } from '../../keys/map';
import { visit } from '../../state/route';
import { canRecord, toggleRecording } from '../../state/recording';
import { watchMedia } from '../../state/media';
import { about, watchServer } from '../../state/server';
import { open } from '../../state/session';
import { registerTab } from '../inspector';
import { later } from '../later';
import { overlay, wantsFiles } from '../overlays';
import { registerScreen } from '../screens';

const SCREENS = [
  ['search', 'S', 'placeSearch', later(async () => (await import('./SearchScreen')).SearchScreen)],
  ['prompts', 'P', 'placePrompts', later(async () => (await import('./PromptsScreen')).PromptsScreen)],
  ['flows', 'F', 'placeFlows', later(async () => (await import('./FlowsScreen')).FlowsScreen)],
  ['models', 'O', 'placeModels', later(async () => (await import('./ModelsScreen')).ModelsScreen)],
  ['usage', 'U', 'placeUsage', later(async () => (await import('./UsageScreen')).UsageScreen)],
] as const;

const screenCommands = SCREENS.map(([id, key, name]): Command => {
  return {
    id: `screen-${id}`,
    group: 'general',
    keys: [key],
    label: () => words.value[name],
    run: () => visit({ screen: id }),
  };
});

const others: Command[] = [
  {
    id: 'conversation',
    group: 'general',
    keys: ['X'],
    label: () => words.value.conversation,
    run: () => visit({ conversation: open.value?.id ?? null }),
  },
  {
    id: 'import',
    group: 'general',
    keys: ['Alt+i'],
    label: () => words.value.import,
    run: () => {
      overlay.value = 'import';
    },
  },
  {
    id: 'attach',
    group: 'general',
    keys: ['Alt+a'],
    label: () => words.value.attach,
    run: () => {
      wantsFiles.value = true;
    },
  },
  {
    id: 'tools',
    group: 'general',
    keys: ['Alt+o'],
    label: () => words.value.hostTools,
    when: () => about.value?.tools === true,
    run: () => {
      overlay.value = 'tools';
    },
  },
  {
    id: 'record',
    group: 'general',
    keys: ['Alt+r'],
    label: () => words.value.record,
    when: () => canRecord.value,
    run: () => void toggleRecording(),
  },
];

export function registerAround(): void {
  for (const [id, , name, view] of SCREENS) {
    registerScreen({ id, label: () => words.value[name], view, hasPanel: false });
  }
  register([...screenCommands, ...others]);
  const CostTab = later(async () => (await import('./CostTab')).CostTab);
  registerTab({ id: 'cost', label: () => words.value.costTab, view: CostTab });
  watchServer();
  watchMedia();
}
