// The page: the list, what is shown, the panel, and what lies over them. A phone shows one of the three.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { words } from '../language';
import { wantsKey } from '../state/connection';
import { route } from '../state/route';
import { open, wantsFocus } from '../state/session';
import { set, settings } from '../state/settings';
import { dialog } from '../state/steering';
import { Drop } from './Drop';
import { Icon, type IconName } from './Icon';
import { presentTab } from './inspector';
import { KeyPrompt } from './KeyPrompt';
import { later } from './later';
import { Notices } from './Notices';
import { overlay, question } from './overlays';
import { Panel } from './Panel';
import { QuestionDialog } from './QuestionDialog';
import { screens, type Screen } from './screens';
import { Sidebar } from './Sidebar';
import { StatusBar } from './StatusBar';

const Help = later(async () => (await import('./Help')).Help);
const Palette = later(async () => (await import('./Palette')).Palette);
const SteeringDialogs = later(async () => (await import('./steering/SteeringDialogs')).SteeringDialogs);
const ImportDialog = later(async () => (await import('./around/ImportDialog')).ImportDialog);
const ToolsDialog = later(async () => (await import('./around/ToolsDialog')).ToolsDialog);
const SettingsDialog = later(async () => (await import('./SettingsDialog')).SettingsDialog);

type Part = 'list' | 'main' | 'panel';

export function App() {
  const part = useSignal<Part>('main');
  const { list, panel } = settings.value;
  const screen = screens.value.find((entry) => entry.id === route.value.screen) ?? screens.value[0];
  // On a phone, what was chosen in the list or the tree is shown.
  useEffect(() => {
    part.value = 'main';
  }, [route.value.screen, route.value.conversation, route.value.node, open.value?.focused.value]);
  useEffect(() => {
    const wanted = wantsFocus.value?.part;
    if (wanted === 'tree') {
      part.value = 'panel';
      presentTab.value = 'tree';
      if (!settings.value.panel) set({ panel: true });
    }
    if (wanted === 'panel') {
      part.value = 'panel';
      if (!settings.value.panel) set({ panel: true });
    }
    if (wanted === 'search') part.value = 'list';
    if (wanted === 'composer' || wanted === 'line') part.value = 'main';
  }, [wantsFocus.value]);
  if (!screen) return null;
  const View = screen.view;
  return (
    <>
      <a class="skip" href={`#${skipTo(screen)}`} onClick={(event) => skip(event, skipTo(screen))}>
        {screen.id === 'conversation' ? words.value.skip : words.value.skipContent}
      </a>
      <div class="page" data-part={part.value} data-list={list} data-panel={panel && screen.hasPanel}>
        <Sidebar />
        <main id="main">
          <h1 class="hidden phone-only">{words.value.product}</h1>
          <View />
          {screen.hasPanel && <Panel />}
        </main>
        <StatusBar />
        <PartBar screen={screen} part={part.value} choose={(chosen) => (part.value = chosen)} />
      </div>
      <Notices />
      {overlay.value === 'help' && <Help />}
      {overlay.value === 'palette' && <Palette />}
      {overlay.value === 'settings' && <SettingsDialog />}
      {dialog.value && <SteeringDialogs key={dialog.value.kind} />}
      {overlay.value === 'import' && <ImportDialog />}
      {overlay.value === 'tools' && <ToolsDialog />}
      <Drop />
      {question.value && <QuestionDialog key={question.value.title} asked={question.value} />}
      {wantsKey.value && <KeyPrompt />}
    </>
  );
}

/** Where the content of a screen begins. */
function skipTo(screen: Screen): string {
  return screen.id === 'conversation' ? 'composer' : 'screen-title';
}

function skip(event: MouseEvent, to: string): void {
  event.preventDefault();
  document.getElementById(to)?.focus();
}

interface PartBarProps {
  screen: Screen;
  part: Part;
  choose: (part: Part) => void;
}

function PartBar({ screen, part, choose }: PartBarProps) {
  const text = words.value;
  const parts: [Part, string, IconName][] = [
    ['list', text.conversations, 'list'],
    ['main', screen.label(), 'edit'],
  ];
  if (screen.hasPanel) parts.push(['panel', text.tree, 'branch']);
  return (
    <nav class="part-bar" aria-label={text.views}>
      {parts.map(([name, label, icon]) => (
        <button key={name} type="button" aria-pressed={part === name} onClick={() => choose(name)}>
          <Icon name={icon} />
          {label}
        </button>
      ))}
    </nav>
  );
}
