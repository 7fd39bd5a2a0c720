// Work that is not urgent, in slices: between two of them the page answers.

/** How many milliseconds of a frame are used. */
const SLICE = 10;
const waiting: (() => void)[] = [];
let isScheduled = false;

/** Does some work soon, in the order in which it was asked for. */
export function soon(work: () => void): void {
  waiting.push(work);
  schedule();
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    const end = performance.now() + SLICE;
    while (waiting.length > 0 && performance.now() < end) waiting.shift()?.();
    if (waiting.length > 0) schedule();
  });
}
