// What replies cost, and their tokens.
import type { Cost } from '../../api/around';
import { number } from '../../language';
import { around } from '../../language/around';

/** A sum as people read it: exact, or the least where a price or a count is unknown. */
export function sumOf(cost: Cost): string {
  const text = around.value;
  if (cost.total !== null) return `${cost.total} ${cost.currency}`;
  return cost.known === '0' ? text.costUnknown : text.costAtLeast(`${cost.known} ${cost.currency}`);
}

export function CostFacts({ title, cost }: { title: string; cost: Cost }) {
  const text = around.value;
  const facts: [string, string][] = [
    [text.costTitle, sumOf(cost)],
    [text.replies, number(cost.replies)],
    [text.tokensIn, number(cost.tokens.input)],
    [text.tokensCached, number(cost.tokens.cached)],
    [text.tokensOut, number(cost.tokens.output)],
    [text.tokensThought, number(cost.tokens.reasoning)],
  ];
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name} class="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {cost.unpriced.length > 0 && <p class="quiet">{text.costUnpriced(cost.unpriced.join(', '))}</p>}
      {cost.uncounted > 0 && <p class="quiet">{text.costUncounted(cost.uncounted)}</p>}
    </section>
  );
}
