// What is known of the message that has the focus.
import type { ComponentChildren } from 'preact';
import { fullTime, number, words } from '../../language';
import { open } from '../../state/session';
import { plainName } from '../../text/plain';
import { later } from '../later';
import { roleName } from '../roles';

const Report = later(async () => (await import('./Report')).Report);

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function Details() {
  const present = open.value;
  const id = present?.focused.value ?? null;
  void present?.version.value;
  const node = present?.tree.get(id);
  const text = words.value;
  if (!node) return <p class="quiet padded">{text.selectMessage}</p>;
  const { reply } = node;
  return (
    <div class="details">
      <dl>
        <Fact name={text.message}>{roleName(node.role)}</Fact>
        <Fact name={text.created}>{fullTime(node.created_at)}</Fact>
        {reply && <Fact name={text.model}>{plainName(reply.model)}</Fact>}
        {reply?.finish && <Fact name={text.finish}>{plainName(reply.finish)}</Fact>}
        {reply?.seed !== undefined && <Fact name={text.seed}>{number(reply.seed)}</Fact>}
        {node.label && <Fact name={text.label}>{plainName(node.label)}</Fact>}
        {node.bookmarks.length > 0 && <Fact name={text.bookmark}>{plainName(node.bookmarks.join(', '))}</Fact>}
        <Fact name={text.node}>
          <code>{node.id}</code>
        </Fact>
      </dl>
      {reply?.error && <p class="failure">{plainName(reply.error)}</p>}
      <Report />
    </div>
  );
}
