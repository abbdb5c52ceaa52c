/** What an actor does next: the simulator's mix of operations, in real time and more crowded. */
import { drawOperation, LOCKS, type Dice, type LockName, type Operation } from '@holdfast/simulator'
import type { Traits } from 'holdfast/store'
import type { Target } from './site.js'

export type Wish =
  | (Operation & { readonly patient?: undefined; readonly vigil?: undefined })
  /**
   * A lock that is held for seconds, or whose lease is renewed once, and late: see `vigils.ts` and
   * `late.ts`.
   */
  | {
      readonly vigil: Target
      readonly patient?: undefined
      readonly thinkMs: number
      readonly workMs: number
      readonly late?: boolean
    }
  /**
   * A lock with a long lease that is mostly free: what an unclear attempt leaves behind stays to be
   * found.
   */
  | {
      readonly patient: string
      readonly vigil?: undefined
      readonly thinkMs: number
      readonly how: 'acquire' | 'try'
      readonly workMs: number
    }

const PATIENT_LOCKS = 6
const PATIENT_SHARE = 0.12

export function offeredLocks({ kinds }: Traits): LockName[] {
  return LOCKS.filter((lock) => {
    if (lock === 'readers') return kinds.includes('readWriteLock')
    if (lock === 'permits') return kinds.includes('semaphore')
    return kinds.includes('mutex')
  })
}

export function drawWish(dice: Dice, traits: Traits): Wish {
  const drawn = drawOperation(dice, offeredLocks(traits), true)
  const patient = dice.chance(PATIENT_SHARE)
  const number = dice.whole(0, PATIENT_LOCKS - 1)
  const thinkMs = drawn.thinkMs / 8
  if (patient) {
    const how = dice.chance(0.5) ? 'acquire' : 'try'
    return { patient: `patient-${number}`, thinkMs, how, workMs: dice.exponential(20, 200) }
  }
  // Long work under most leases would leave few of them.
  const long = drawn.workMs > 300 && dice.chance(0.7)
  return { ...within(drawn, traits), thinkMs, workMs: long ? drawn.workMs / 40 : drawn.workMs }
}

/** Leaves out what the store cannot do. */
function within(operation: Operation, traits: Traits): Operation {
  const { how, twist, nested } = operation
  return {
    ...operation,
    how: how === 'steal' && !traits.steal ? 'acquire' : how,
    twist: twist === 'downgrade' && !traits.downgrade ? 'none' : twist,
    nested: nested && within(nested, traits),
  }
}
