// One line below everything: whether changes arrive, and how large the tree is.
import { words } from '../language';
import { isReachable } from '../state/connection';
import { open } from '../state/session';
import { turnsOf, running } from '../state/turns';

export function StatusBar() {
  const present = open.value;
  const text = words.value;
  void running.value;
  void present?.version.value;
  const isLive = isReachable.value && (present?.state.value !== 'ready' || present.isConnected.value);
  const line = present?.line.value;
  const reply = line?.findLast((node) => node.reply !== null)?.reply;
  const turns = present ? turnsOf(present.id).filter((turn) => turn.state.value !== 'failed').length : 0;
  return (
    <footer class="status" aria-label={text.status}>
      <span class="live" data-live={isLive}>
        {isLive ? text.connected : text.disconnected}
      </span>
      {turns > 0 && <span>{text.writing}</span>}
      <span class="space" />
      {present && present.state.value === 'ready' && <span>{text.nodes(present.tree.size)}</span>}
      {reply?.usage && <span>{text.tokens(reply.usage.prompt + reply.usage.generated)}</span>}
    </footer>
  );
}
