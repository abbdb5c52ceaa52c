/** The arithmetic of majorities, as plain functions. */

/** Returns how many nodes are more than half. Any two majorities have a node in common. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1
}

/**
 * Returns the `rank`-th largest number, counted from 1: at least `rank` of them reach it. Undefined
 * when there are fewer.
 */
export function reachedBy(numbers: readonly number[], rank: number): number | undefined {
  return [...numbers].sort((a, b) => b - a)[rank - 1]
}
