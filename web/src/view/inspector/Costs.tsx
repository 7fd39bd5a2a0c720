// The tokens and the cost of a reply, of its branch and of the whole tree.
import { useEffect, useState } from 'preact/hooks';
import type { Cost } from '../../api/inspecting';
import type { Node } from '../../api/types';
import { number } from '../../language';
import { inspecting } from '../../language/inspecting';
import { client } from '../../state/connection';
import type { OpenConversation } from '../../state/open';
import { clean } from '../../text/plain';

const COLUMNS = ['input', 'cached', 'output', 'reasoning'] as const;

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
  return (
    <>
      <div class="wide">
        <table class="costs">
          <thead>
            <tr>
              <td />
              {COLUMNS.map((name) => (
                <th key={name} scope="col">
                  {text.column(name)}
                </th>
              ))}
              {costs && (
                <th scope="col">
                  {text.column('cost')} {costs.all.currency}
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {own && <Row name={text.thisReply} tokens={own} cost={null} hasCost={costs !== null} />}
            {costs && <Row name={text.thisBranch} tokens={costs.branch.tokens} cost={costs.branch} hasCost />}
            {costs && <Row name={text.wholeTree} tokens={costs.all.tokens} cost={costs.all} hasCost />}
          </tbody>
        </table>
      </div>
      {costs && costs.all.uncounted > 0 && <p class="quiet">{text.uncounted(number(costs.all.uncounted))}</p>}
      {costs && costs.all.unpriced.length > 0 && (
        <p class="quiet">{text.unpriced(clean(costs.all.unpriced.join(', ')))}</p>
      )}
    </>
  );
}

interface RowProps {
  name: string;
  tokens: Cost['tokens'];
  cost: Cost | null;
  hasCost: boolean;
}

function Row({ name, tokens, cost, hasCost }: RowProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      {COLUMNS.map((column) => (
        <td key={column}>{number(tokens[column])}</td>
      ))}
      {hasCost && <td>{cost ? (cost.total ?? `≥ ${cost.known}`) : ''}</td>}
    </tr>
  );
}
