/** What an actor does next: the script's mix of operations, in real time and more crowded. */
import {
  drawOperation,
  LOCKS,
  withHeirs,
  type Belief,
  type Dice,
  type LockName,
  type Step,
  type Target,
} from '@holdfast/workload'
import type { Traits } from 'holdfast/store'
import type { Site } from './site.js'

/**
 * A lock that stays taken after the work; its lease is longer by a second. Each holder keeps it for
 * long, so its waiters give up soon: a queue of patient ones would outlast the limit of liveness.
 */
const LASTING = 'lasting'
const LASTING_SHARE = 0.05
const LASTING_TTL_MS = 1000
const [LASTING_MS, LONGEST_LASTING_MS] = [100, 1500]
const LASTING_WAIT_MS = 2000
const PATIENT_LOCKS = 6
const PATIENT_SHARE = 0.12
/** How long an actor waits for a lock that it can do without. */
const PATIENT_WAIT_MS = 300
/** How long an actor waits for a lock that others hold for seconds. */
const LONG_WAIT_MS = 60_000

export function offeredLocks({ kinds }: Traits): LockName[] {
  return LOCKS.filter((lock) => {
    if (lock === 'readers') return kinds.includes('readWriteLock')
    if (lock === 'permits') return kinds.includes('semaphore')
    return kinds.includes('mutex')
  })
}

/**
 * Draws an operation, or a visit to a lock with a long lease.
 * @param processes among which leases may pass
 */
export function drawStep(dice: Dice, site: Site, processes: number): Step {
  const { traits } = site.locks.store
  const drawn = drawOperation(dice, offeredLocks(traits), true)
  const isPatient = dice.chance(PATIENT_SHARE)
  const number = dice.whole(0, PATIENT_LOCKS - 1)
  const thinkMs = drawn.thinkMs / 8
  const isLasting = traits.adopt && traits.kinds.includes('mutex') && dice.chance(LASTING_SHARE)
  if (isLasting) return { thinkMs, act: lastingVisit(dice, site) }
  if (isPatient) return { thinkMs, act: patientVisit(dice, site, `patient-${number}`) }
  // Long work under most leases would leave few of them.
  const long = drawn.workMs > 300 && dice.chance(0.7)
  const workMs = long ? drawn.workMs / 40 : drawn.workMs
  const whole = { ...drawn, workMs }
  const operation = traits.adopt ? withHeirs(dice, whole, processes) : whole
  return { thinkMs, act: (actor) => actor.perform(operation) }
}

/** Takes a lock and waits for long, if it must. */
export function longWait(
  thinkMs: number,
  target: Target,
  work: (belief: Belief, workFor: (ms: number) => Promise<void>) => Promise<void>,
): Step {
  return {
    thinkMs,
    act: (actor) =>
      actor.hold({
        target,
        how: 'acquire',
        waitMs: LONG_WAIT_MS,
        work: (belief) => work(belief, (ms) => actor.workFor(ms, belief)),
      }),
  }
}

/**
 * A lock with a long lease that is mostly free. The claim that an attempt in doubt leaves behind
 * stays there to be found.
 */
function patientVisit(dice: Dice, site: Site, lock: string): Step['act'] {
  const how = dice.chance(0.5) ? 'acquire' : 'try'
  const workMs = dice.exponential(20, 200)
  return (actor) =>
    actor.hold({
      target: site.patient(lock),
      how,
      waitMs: PATIENT_WAIT_MS,
      work: (belief) => actor.workFor(workMs, belief),
    })
}

function lastingVisit(dice: Dice, site: Site): Step['act'] {
  const atLeastMs = dice.between(LASTING_MS, LONGEST_LASTING_MS)
  const workMs = dice.exponential(20, LASTING_MS)
  return (actor) =>
    actor.hold({
      target: site.mutex(LASTING, LASTING_TTL_MS),
      how: 'run',
      waitMs: LASTING_WAIT_MS,
      atLeastMs,
      work: (belief) => actor.workFor(workMs, belief),
    })
}
