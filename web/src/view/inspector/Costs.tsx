// The tokens and the cost of a reply, of its branch and of the whole tree.
import { useEffect, useState } from 'preact/hooks';
import type { Cost } from '../../api/inspecting';
import type { Node } from '../../api/types';
import { number } from '../../language';
import { inspecting } from '../../language/inspecting';
import { client } from '../../state/connection';
import type { OpenConversation } from '../../state/open';
import { plainName } from '../../text/plain';

const ROWS = ['input', 'cached', 'output', 'reasoning'] as const;

export function Costs({ conversation, node }: { conversation: OpenConversation; node: Node }) {
  const text = inspecting.value;
  const size = conversation.tree.size;
  const [costs, setCosts] = useState<{ branch: Cost; all: Cost } | null>(null);
  useEffect(() => {
    let isPresent = true;
    Promise.all([client.cost(conversation.id, node.id), client.cost(conversation.id, null)]).then(
      ([branch, all]) => {
        if (isPresent) setCosts({ branch, all });
      },
      // The tokens of the reply are shown without them.
      () => undefined,
    );
    return () => {
      isPresent = false;
    };
  }, [conversation.id, node.id, size]);
  const usage = node.reply?.usage;
  const own = usage && {
    input: usage.prompt - usage.cached,
    cached: usage.cached,
    output: usage.generated,
    reasoning: usage.thinking,
  };
  const sums: [string, Cost['tokens'] | undefined, string | undefined][] = [
    [text.thisReply, own, undefined],
    [text.thisBranch, costs?.branch.tokens, costs ? costOf(costs.branch) : undefined],
    [text.wholeTree, costs?.all.tokens, costs ? costOf(costs.all) : undefined],
  ];
  const known = sums.filter(([, tokens]) => tokens !== undefined);
  if (known.length === 0) return null;
  return (
    <>
      <table class="costs">
        <thead>
          <tr>
            <td />
            {known.map(([name]) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ROWS.map((row) => (
            <tr key={row}>
              <th scope="row">{text.column(row)}</th>
              {known.map(([name, tokens]) => (
                <td key={name}>{number(tokens?.[row] ?? 0)}</td>
              ))}
            </tr>
          ))}
          {costs && (
            <tr>
              <th scope="row">
                {text.column('cost')} {costs.all.currency}
              </th>
              {known.map(([name, , cost]) => (
                <td key={name}>{cost ?? ''}</td>
              ))}
            </tr>
          )}
        </tbody>
      </table>
      {costs && costs.all.uncounted > 0 && <p class="quiet">{text.uncounted(number(costs.all.uncounted))}</p>}
      {costs && costs.all.unpriced.length > 0 && (
        <p class="quiet">{text.unpriced(plainName(costs.all.unpriced.join(', ')))}</p>
      )}
    </>
  );
}

/** Returns a sum; one that is not known in full as the least that it is. */
function costOf({ total, known }: Cost): string {
  return total ?? (Number(known) > 0 ? `≥ ${known}` : '–');
}
