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

/**
 * Returns the best figure of any peer in each round. A peer that took part in fewer rounds counts
 * in the others with its median.
 */
export function bestOf(
  peers: readonly (readonly number[])[],
  rounds: number,
  best: (...values: number[]) => number = Math.max,
): number[] {
  const usual = peers.map(median)
  return Array.from({ length: rounds }, (_, round) =>
    best(...peers.map((figures, peer) => figures[round] ?? usual[peer] ?? NaN)),
  )
}

/** Returns one figure, an entry a round. */
export function valuesOf(rounds: readonly Figures[] | undefined, figure: string): number[] {
  return rounds?.map((figures) => figures[figure] ?? NaN) ?? []
}

/** The pairs of acquire and release a second, an entry a round. */
export function ratesOf(rounds: readonly Figures[] | undefined): number[] {
  return valuesOf(rounds, 'pairs')
}

/** Without the rounds that failed. */
export function medianRate(rates: readonly number[]): string {
  return rate(median(rates.filter(Number.isFinite)))
}
