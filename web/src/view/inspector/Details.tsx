// What is known of the message that has the focus.
import type { ComponentChildren } from 'preact';
import { fullTime, number, words } from '../../language';
import { open } from '../../state/session';
import { plainName } from '../../text/plain';
import { roleName } from '../roles';
import { Folded } from '../Message';

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
        {reply?.usage && (
          <>
            <Fact name={text.prompt}>{text.tokens(reply.usage.prompt)}</Fact>
            <Fact name={text.reply}>{text.tokens(reply.usage.generated)}</Fact>
            {reply.usage.thinking > 0 && <Fact name={text.thinking}>{text.tokens(reply.usage.thinking)}</Fact>}
          </>
        )}
        {reply?.cache && <Fact name={text.cacheReport}>{text.cached(reply.cache.cached, reply.cache.prompt)}</Fact>}
        {reply?.seed !== undefined && <Fact name={text.seed}>{number(reply.seed)}</Fact>}
        {node.label && <Fact name={text.label}>{plainName(node.label)}</Fact>}
        {node.bookmarks.length > 0 && <Fact name={text.bookmark}>{plainName(node.bookmarks.join(', '))}</Fact>}
        <Fact name={text.node}>
          <code>{node.id}</code>
        </Fact>
      </dl>
      {reply?.error && <p class="failure">{plainName(reply.error)}</p>}
      {reply?.warnings?.map((warning, index) => (
        <Folded key={index} title={text.warning} text={JSON.stringify(warning, null, 2)} isCode isOpen />
      ))}
      {reply?.facts && Object.keys(reply.facts).length > 0 && (
        <Folded title={text.details} text={JSON.stringify(reply.facts, null, 2)} isCode />
      )}
    </div>
  );
}
