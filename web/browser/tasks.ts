// How long the page is busy at a time: by the clock as people wait, and as the processor counts it, which other programs
// on the machine do not change.
import type { Page } from 'playwright-core';

export interface Busy {
  /** The longest tasks of the page's thread, in milliseconds of its processor time, the longest first. */
  tasks: number[];
  /** The same by the clock. */
  waits: number[];
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
  args?: { name?: string };
}

/** Does some work, and returns how long the page was busy at a time meanwhile. */
export async function busy(page: Page, work: () => Promise<void>): Promise<Busy> {
  const browser = page.context().browser();
  if (!browser) throw new Error('the page has no browser of its own, so nothing can be recorded');
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline', '__metadata'] });
  let recorded: Buffer;
  try {
    await work();
  } finally {
    recorded = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(recorded.toString()) as { traceEvents: TraceEvent[] };
  return ofTasks(traceEvents);
}

/** Reads the tasks of the pages' threads, one process after the other. */
function ofTasks(events: readonly TraceEvent[]): Busy {
  const threads = new Set<string>();
  for (const event of events) {
    if (event.name === 'thread_name' && event.args?.name === 'CrRendererMain') threads.add(`${event.pid}/${event.tid}`);
  }
  const found = events.filter(
    (event) => event.name === 'RunTask' && event.ph === 'X' && threads.has(`${event.pid}/${event.tid}`),
  );
  if (found.length === 0) throw new Error('the browser recorded no task');
  const longest = (of: (event: TraceEvent) => number) =>
    found
      .map((event) => of(event) / 1000)
      .sort((a, b) => b - a)
      .slice(0, 400);
  return { tasks: longest((event) => event.tdur ?? event.dur ?? 0), waits: longest((event) => event.dur ?? 0) };
}

/** The value below which a share of sorted values lies. */
export function share(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
}

export function rounded(values: readonly number[]): string {
  return values.map((value) => value.toFixed(0)).join(' ');
}
