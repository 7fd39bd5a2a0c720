// How much of a prompt was cached, and why the rest was not.
import type { Reuse } from '../../api/inspecting';
import { number } from '../../language';
import { inspecting } from '../../language/inspecting';
import { plainName } from '../../text/plain';

/** Returns the reason in words; the server's own where it is new here. */
export function reason(reuse: Pick<Reuse, 'miss' | 'why'>): string | null {
  if (reuse.miss === null || reuse.miss === undefined) return null;
  const known = typeof reuse.miss === 'string' ? inspecting.value.miss(reuse.miss) : '';
  return known || plainName(reuse.why ?? JSON.stringify(reuse.miss));
}

export function ReuseBar({ reuse }: { reuse: Reuse }) {
  const text = inspecting.value;
  const share = reuse.prompt > 0 ? (100 * reuse.cached) / reuse.prompt : 0;
  const why = reason(reuse);
  return (
    <div class="reuse">
      <p class="inspect-facts">{text.reused(number(reuse.cached), number(reuse.prompt))}</p>
      <div class="meter" aria-hidden="true">
        <span style={{ width: `${share}%` }} />
      </div>
      {why !== null && <p class="inspect-facts warn">{why}</p>}
      {why === null && reuse.cached > 0 && <p class="quiet inspect-facts">{text.reusedAll}</p>}
      {typeof reuse.first_difference === 'number' && reuse.first_difference < reuse.prompt && (
        <p class="quiet inspect-facts">{text.firstDifference(number(reuse.first_difference + 1))}</p>
      )}
    </div>
  );
}
