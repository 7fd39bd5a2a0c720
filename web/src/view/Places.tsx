// The way to the other screens, at the foot of the list.
import { words } from '../language';
import { route, writeRoute } from '../state/route';
import { IconButton } from './Button';
import { Icon, type IconName } from './Icon';
import { overlay } from './overlays';
import { screens } from './screens';

const ICONS: Record<string, IconName> = {
  search: 'filter',
  prompts: 'prompt',
  flows: 'flow',
  models: 'model',
  usage: 'usage',
};

export function Places() {
  const others = screens.value.filter((screen) => screen.id in ICONS);
  return (
    <div class="places" role="group" aria-label={words.value.places}>
      {others.map((screen) => (
        <a
          key={screen.id}
          class="icon-button"
          href={writeRoute({ screen: screen.id, conversation: null, node: null })}
          aria-label={screen.label()}
          title={screen.label()}
          aria-current={route.value.screen === screen.id ? 'page' : undefined}
        >
          <Icon name={ICONS[screen.id] ?? 'list'} />
        </a>
      ))}
      <IconButton
        icon="upload"
        label={words.value.import}
        onClick={() => {
          overlay.value = 'import';
        }}
      />
    </div>
  );
}
