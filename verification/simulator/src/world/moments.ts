/** How long a program takes until it has read a clock, from a seed. */
import { Dice } from '@holdfast/workload'

/** Some microseconds. Two readings of one tick are not the same. */
const LONGEST_MS = 0.02

export function drawMoments(seed: number): () => number {
  const dice = Dice.named(seed, 'moments')
  return () => dice.between(0, LONGEST_MS)
}
