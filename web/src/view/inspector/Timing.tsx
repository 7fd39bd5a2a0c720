// When things happened in the turn of a reply, one below the other.
import { number } from '../../language';
import { inspecting } from '../../language/inspecting';
import { spansOf } from '../../state/inspected';
import type { Span } from '../../state/timing';
import { plainName } from '../../text/plain';

/** Returns a time for people. */
function duration(milliseconds: number): string {
  const text = inspecting.value;
  if (milliseconds < 1000) return text.milliseconds(number(Math.round(milliseconds)));
  return text.seconds(number(Math.round(milliseconds / 10) / 100));
}

function rate({ from, to, tokens }: Span): string {
  if (tokens === undefined || tokens < 2) return '';
  const seconds = (to - from) / 1000;
  const each = seconds > 0 ? ` · ${inspecting.value.rate(number(Math.round(tokens / seconds)))}` : '';
  return ` · ${inspecting.value.tokensOf(number(tokens))}${each}`;
}

export function Timing({ node }: { node: string }) {
  const text = inspecting.value;
  const spans = spansOf(node);
  if (!spans || spans.length === 0) return <p class="quiet">{text.timingUnknown}</p>;
  const total = Math.max(1, ...spans.map((span) => span.to));
  const isMeasured = spans.some((span) => span.kind === 'prefill');
  return (
    <>
      <ol class="waterfall">
        {spans.map((span, index) => (
          <li key={index}>
            <span class="waterfall-name">{plainName(text.span(span.kind, span.name ?? ''))}</span>
            <span class="waterfall-time">
              {duration(span.to - span.from)}
              {rate(span)}
            </span>
            <span class="waterfall-line" aria-hidden="true">
              <span
                class={`waterfall-bar ${span.kind}`}
                style={{
                  insetInlineStart: `${(100 * span.from) / total}%`,
                  width: `${Math.max(0.5, (100 * (span.to - span.from)) / total)}%`,
                }}
              />
            </span>
          </li>
        ))}
        <li class="waterfall-total">
          <span class="waterfall-name">{text.total}</span>
          <span class="waterfall-time">{duration(total)}</span>
        </li>
      </ol>
      <p class="quiet">{isMeasured ? text.timingMeasured : text.timingSeen}</p>
    </>
  );
}
