// The places of the items of a long list: measured where an item was drawn, estimated elsewhere.

export class Heights {
  readonly #measured = new Map<string, number>();
  #keys: readonly string[] = [];
  #estimates: readonly number[] = [];
  #tops: Float64Array = new Float64Array(1);
  #isStale = true;

  constructor(readonly gap: number) {}

  /** Sets the items. */
  reset(keys: readonly string[], estimates: readonly number[]): void {
    this.#keys = keys;
    this.#estimates = estimates;
    this.#isStale = true;
  }

  /** Sets a measured height. Returns by how much it differs from what was assumed. */
  measure(key: string, index: number, height: number): number {
    const before = this.#measured.get(key) ?? this.#estimates[index] ?? 0;
    if (before === height && this.#measured.has(key)) return 0;
    this.#measured.set(key, height);
    this.#isStale = true;
    return height - before;
  }

  #update(): Float64Array {
    if (!this.#isStale) return this.#tops;
    const tops = new Float64Array(this.#keys.length + 1);
    let sum = 0;
    this.#keys.forEach((key, index) => {
      tops[index] = sum;
      sum += (this.#measured.get(key) ?? this.#estimates[index] ?? 0) + this.gap;
    });
    tops[this.#keys.length] = sum;
    this.#tops = tops;
    this.#isStale = false;
    return tops;
  }

  top(index: number): number {
    return this.#update()[index] ?? 0;
  }

  get total(): number {
    return this.top(this.#keys.length);
  }

  /** The item at a height, found by halves. */
  at(height: number): number {
    const tops = this.#update();
    let low = 0;
    let high = Math.max(0, this.#keys.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((tops[middle] ?? 0) <= height) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
