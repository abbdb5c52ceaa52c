/** Holdfast beside a peer: what is compared is the ratio of both in the same round. */
import { rate } from './report.js'
import type { Figures } from './rounds.js'
import { median, medianInterval, type Interval } from './stats.js'

export interface Paired {
  /** Median of the ratios within a round, and its 95% confidence interval. */
  readonly ratio: number
  readonly interval: Interval
}

/** Compares two lists of figures, an entry a round. */
export function pair(ours: readonly number[], theirs: readonly number[]): Paired {
  const ratios = ours.map((value, round) => value / (theirs[round] ?? NaN)).filter(Number.isFinite)
  return { ratio: median(ratios), interval: medianInterval(ratios) }
}

/** 0.49x [0.45, 0.52] */
export function inWords({ ratio, interval: { low, high } }: Paired): string {
  return `${ratio.toFixed(2)}x [${low.toFixed(2)}, ${high.toFixed(2)}]`
}

/** The pairs of acquire and release a second, an entry a round. */
export function ratesOf(rounds: readonly Figures[] | undefined): number[] {
  return rounds?.map(({ pairs = NaN }) => pairs) ?? []
}

export function medianRate(rates: readonly number[]): string {
  return rate(median(rates))
}
