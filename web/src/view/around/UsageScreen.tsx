// What the key may use and has used, and what conversations cost.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { cost, usage, type Cost, type UsageReport } from '../../api/around';
import { ApiError } from '../../api/client';
import type { Conversation } from '../../api/types';
import { number, words } from '../../language';
import { around } from '../../language/around';
import { client } from '../../state/connection';
import { conversations, titleOf } from '../../state/list';
import { writeRoute } from '../../state/route';
import { plainName } from '../../text/plain';
import { sumOf } from './CostTable';
import { Screen } from './Screen';

/** Of how many conversations the costs are asked for. */
const SHOWN = 20;

export function UsageScreen() {
  const text = around.value;
  const report = useSignal<UsageReport | null>(null);
  const problem = useSignal('');
  const round = useSignal(0);
  useEffect(() => {
    usage(client).then(
      (given) => {
        report.value = given;
        problem.value = '';
      },
      (error: unknown) => {
        const isMissing = error instanceof ApiError && error.status === 404;
        problem.value = isMissing ? text.usageMissing : error instanceof Error ? error.message : String(error);
      },
    );
  }, [round.value]);
  const actions = (
    <button type="button" class="button small" onClick={() => (round.value += 1)}>
      {text.refresh}
    </button>
  );
  return (
    <Screen title={text.usageTitle} actions={actions}>
      {problem.value !== '' && <p class="quiet">{problem.value}</p>}
      {report.value && <Limits report={report.value} />}
      <Costs round={round.value} />
    </Screen>
  );
}

/** A time in hours and minutes, or in seconds. */
function duration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : `${Math.ceil(seconds)} s`;
}

function Limits({ report }: { report: UsageReport }) {
  const text = around.value;
  const { limits, used } = report;
  const resets = used.tokens_reset === null ? '' : text.tokensReset(duration(used.tokens_reset));
  const wait = used.next_call ?? 0;
  const nextCall = used.next_call === null ? '' : wait > 0 ? text.nextCall(wait.toFixed(1)) : text.now;
  return (
    <section aria-label={text.usageOf(report.owner)}>
      <h2>{text.usageOf(plainName(report.owner))}</h2>
      <Limit name={text.tokensToday} used={used.tokens} limit={limits.tokens_per_day} note={resets} />
      <Limit name={text.callsPerMinute} used={null} limit={limits.calls_per_minute} note={nextCall} />
      <Limit name={text.requests} used={used.running} limit={limits.running} note="" />
      <Limit name={text.requestsWaiting} used={used.waiting} limit={limits.waiting} note="" />
    </section>
  );
}

interface LimitProps {
  name: string;
  used: number | null;
  limit: number | null;
  note: string;
}

function Limit({ name, used, limit, note }: LimitProps) {
  const text = around.value;
  const most = limit === null ? text.unlimited : number(limit);
  const shown = used === null || limit === null ? most : text.ofLimit(number(used), most);
  const share = used === null || limit === null || limit === 0 ? null : Math.min(1, used / limit);
  return (
    <div class="limit">
      <span>{name}</span>
      {share !== null && <meter aria-label={name} min={0} max={1} high={0.8} optimum={0} value={share} />}
      <span class="limit-value">{shown}</span>
      <span class="quiet">{note}</span>
    </div>
  );
}

function Costs({ round }: { round: number }) {
  const text = around.value;
  const costs = useSignal<readonly (readonly [Conversation, Cost])[]>([]);
  const ids = conversations.value
    .slice(0, SHOWN)
    .map((conversation) => conversation.id)
    .join();
  useEffect(() => {
    let isGone = false;
    const read = async () => {
      const rows: (readonly [Conversation, Cost])[] = [];
      for (const conversation of conversations.peek().slice(0, SHOWN)) {
        try {
          rows.push([conversation, await cost(client, conversation.id, null)]);
        } catch {
          // It was deleted meanwhile.
        }
        if (isGone) return;
        costs.value = [...rows];
      }
    };
    void read();
    return () => {
      isGone = true;
    };
  }, [ids, round]);
  if (costs.value.length === 0) return null;
  const names = [text.replies, text.tokensIn, text.tokensCached, text.tokensOut, text.costTitle];
  return (
    <section aria-label={text.costsTitle}>
      <h2>{text.costsTitle}</h2>
      <div class="wide" tabIndex={0} role="group" aria-label={text.costsTitle}>
        <table class="costs">
          <thead>
            <tr>
              <th scope="col">{words.value.conversation}</th>
              {names.map((name) => (
                <th key={name} scope="col" class="align-right">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {costs.value.map(([conversation, one]) => (
              <CostRow key={conversation.id} conversation={conversation} one={one} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function CostRow({ conversation, one }: { conversation: Conversation; one: Cost }) {
  const name = titleOf(conversation);
  const counts = [one.replies, one.tokens.input, one.tokens.cached, one.tokens.output];
  return (
    <tr>
      <th scope="row">
        <a href={writeRoute({ screen: 'conversation', conversation: conversation.id, node: null })}>
          {name === '' ? words.value.untitled : plainName(name)}
        </a>
      </th>
      {counts.map((count, index) => (
        <td key={index} class="align-right">
          {number(count)}
        </td>
      ))}
      <td class="align-right">{sumOf(one)}</td>
    </tr>
  );
}
