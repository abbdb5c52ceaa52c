/** Which leases of a script are exported, and for which callers. */
import type { Dice } from './dice.js'
import type { Operation } from './script.js'

const SHARE = 0.12

/** Lets some leases of a script be exported, most of them for one heir. */
export function withHeirs(dice: Dice, operation: Operation, processes: number): Operation {
  if (operation.how === 'steal' || !dice.chance(SHARE)) return operation
  const afterMs = dice.chance(0.7) ? dice.exponential(20, 200) : dice.between(0, 1500)
  const heirs = Array.from({ length: dice.pick([1, 1, 2, 2, 3]) }, () => ({
    process: dice.whole(0, processes - 1),
    // Half of them race.
    afterMs: dice.chance(0.5) ? afterMs : afterMs + dice.exponential(50, 1000),
    workMs: dice.chance(0.2) ? dice.between(300, 2500) : dice.exponential(30, 300),
  }))
  return { ...operation, heirs }
}
