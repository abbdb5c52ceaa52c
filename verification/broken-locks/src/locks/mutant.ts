/** The good lock with some of its parts replaced. */
import type { Control } from '../control.js'
import { LeaseLock } from '../lease-lock/lock.js'
import type { Answer, Parts } from '../lease-lock/parts.js'
import { GOOD } from './good.js'

/** A masking layer off: the holder believes until the server answers otherwise. */
export const NO_DEADLINE: Pick<Parts, 'believe'> = { believe: () => () => Infinity }

/** `replace` is called once a lock, so that a replaced part can have a memory of its own. */
export function mutant(story: Omit<Control, 'create'>, replace: () => Partial<Parts>): Control {
  return {
    ...story,
    create: (world, settings) => new LeaseLock({ ...GOOD, ...replace() }, world, settings),
  }
}

/** The good attempt, with another token instead of the good one. */
export function attemptWithToken(
  token: (world: Parameters<Parts['attempt']>[0]) => bigint,
): Parts['attempt'] {
  return async (world, claim): Promise<Answer> => {
    const answer = await GOOD.attempt(world, claim)
    if (answer.outcome !== 'granted' && answer.outcome !== 'existing') return answer
    return { ...answer, token: token(world) }
  }
}
