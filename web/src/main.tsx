// The page of `alloquy serve`.
import { render } from 'preact';
import { registerAll } from './keys/commands';
import { dispatch } from './keys/dispatch';
import { registerSteering } from './keys/steering';
import { watchLanguage } from './language';
import { watchRoute } from './state/route';
import { observeTurns } from './state/inspected';
import { begin } from './state/session';
import { watchAppearance } from './state/settings';
import { App } from './view/App';
import { registerAround } from './view/around/register';
import { keepFocus } from './view/focus';
import { addLateStyle } from './view/lateStyle';

watchAppearance();
watchLanguage();
watchRoute();
registerAll();
registerSteering();
registerAround();
document.addEventListener('keydown', dispatch);
const root = document.getElementById('app');
if (root) render(<App />, root);
keepFocus();
addLateStyle();
observeTurns();
begin();
