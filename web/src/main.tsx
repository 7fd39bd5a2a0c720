// The page of `alloquy serve`.
import { render } from 'preact';
import { registerAll } from './keys/commands';
import { dispatch } from './keys/dispatch';
import { watchLanguage } from './language';
import { watchRoute } from './state/route';
import { begin } from './state/session';
import { watchAppearance } from './state/settings';
import { App } from './view/App';
import { registerAround } from './view/around/register';

watchAppearance();
watchLanguage();
watchRoute();
registerAll();
registerAround();
document.addEventListener('keydown', dispatch);
const root = document.getElementById('app');
if (root) render(<App />, root);
begin();
