/** Medians and percentiles. */

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

/** A range of values. */
export interface Interval {
  readonly low: number
  readonly high: number
}

/**
 * The 95% confidence interval of the median, from the ranks of the values. It is the narrowest pair
 * of ranks, alike from both ends, between which the median lies with that probability. It assumes
 * nothing about how the values are distributed. With fewer than six values it is all of them.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = [...values].sort((a, b) => a - b)
  const outside = ranksOutside(sorted.length)
  return { low: sorted[outside] ?? NaN, high: sorted[sorted.length - 1 - outside] ?? NaN }
}

/** How many values at each end lie outside the interval. */
function ranksOutside(count: number): number {
  // The probability that at most this many of the values lie below the median.
  let [ranks, tail, probability] = [0, 0, 0.5 ** count]
  for (;;) {
    tail += probability
    if (2 * tail > 0.05) return Math.max(0, ranks - 1)
    probability *= (count - ranks) / (ranks + 1)
    ranks += 1
  }
}
