// The tab of costs: of the tree of the open conversation, and of the line that is shown.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { cost, type Cost } from '../../api/around';
import { around } from '../../language/around';
import { client } from '../../state/connection';
import { open } from '../../state/session';
import { CostFacts } from './CostTable';

export function CostTab() {
  const text = around.value;
  const present = open.value;
  const both = useSignal<{ tree: Cost; line: Cost | null } | null>(null);
  const problem = useSignal('');
  const [id, at, version] = [present?.id ?? null, present?.at.value ?? null, present?.version.value ?? 0];
  useEffect(() => {
    let isGone = false;
    if (id === null) {
      both.value = null;
      return undefined;
    }
    // Events come in groups: what changes together is asked for once.
    const timer = setTimeout(() => {
      Promise.all([cost(client, id, null), at === null ? null : cost(client, id, at)]).then(
        ([tree, line]) => {
          if (!isGone) both.value = { tree, line };
        },
        (error: unknown) => {
          if (!isGone) problem.value = error instanceof Error ? error.message : String(error);
        },
      );
    }, 150);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [id, at, version]);
  if (id === null) return <p class="quiet padded">{text.selectConversation}</p>;
  return (
    <div class="details">
      {both.value?.line && <CostFacts title={text.costLine} cost={both.value.line} />}
      {both.value && <CostFacts title={text.costTree} cost={both.value.tree} />}
      {problem.value !== '' && <p class="field-problem">{problem.value}</p>}
    </div>
  );
}
