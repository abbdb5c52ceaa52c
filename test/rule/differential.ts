/**
 * A rule that runs in a service, against the rule in plain functions: the same random history on both, the same answers
 * and the same state after each step.
 */
import { SeededRandom } from 'holdfast/conformance'
import {
  CAPACITY_ALL,
  type Claim,
  type LockInfo,
  type LockKind,
  type Renewal,
  type Store,
} from 'holdfast/store'
import { expect } from 'vitest'
import * as rule from '../../packages/holdfast/dist/store/grant-rule.js'

/** A store whose service reads a clock that the test sets. */
export interface ClockedStore {
  readonly store: Store
  /** Sets the service's clock, in whole milliseconds since the Unix epoch. */
  setClock(ms: number): Promise<void>
}

const START_MS = 1_700_000_000_000
const CLAIMS = 10

/** The steps that a history is made of, and how often each comes. */
const VERBS = [
  ...Array<'attempt'>(10).fill('attempt'),
  ...Array<'withdraw'>(5).fill('withdraw'),
  ...Array<'renew'>(4).fill('renew'),
  'downgrade',
  'steal',
] as const

/** Plays one history of a lock. A difference fails with the seed and the steps that led to it. */
export async function comparePlay(
  { store, setClock }: ClockedStore,
  seed: number,
  steps: number,
): Promise<void> {
  const random = new SeededRandom(seed)
  const below = (limit: number): number => Math.floor(random.next() * limit)
  const lock = `differential-${seed}`
  const model = new Model(lock)
  const shapes = shapesFor(below(3))
  let claims = Array.from({ length: CLAIMS }, (_, index) => newClaim(lock, `${seed}-${index}`, shapes, below))
  const history: string[] = []
  for (let step = 0; step < steps; step += 1) {
    model.turn.nowMs += [0, 0, 1, 7, 60, 400][below(6)] ?? 0
    await setClock(START_MS + model.turn.nowMs)
    const verb = VERBS[below(VERBS.length)] ?? 'attempt'
    const index = below(CLAIMS)
    const claim = claims[index]!
    const enqueue = below(3) > 0
    const now = below(2) === 0
    history.push(
      `${model.turn.nowMs} ${verb} ${claim.id} ${claim.kind} ${claim.weight}/${claim.capacity} ${enqueue}`,
    )
    const options = { enqueue, tokens: 1 + below(3) }
    const renewal: Renewal = {
      lock,
      id: claim.id,
      ttlMs: 100 + below(300),
      owner: { ...claim.owner, label: `${step}` },
    }
    const [theirs, ours] = await both(
      () => {
        switch (verb) {
          case 'attempt':
            return store.attempt(claim, options)
          case 'withdraw':
            return store.withdraw(claim)
          case 'renew':
            return store.renew([renewal])
          case 'downgrade':
            return store.downgrade(claim)
          case 'steal':
            break
        }
        return store.steal(lock, { now, because: `step ${step}` })
      },
      () =>
        model.play((state, turn) => {
          switch (verb) {
            case 'attempt':
              return rule.attempt(state, claim, options, turn)
            case 'withdraw':
              return rule.withdraw(state, claim, turn)
            case 'renew':
              return [rule.renew(state, renewal, turn)]
            case 'downgrade':
              return rule.downgrade(state, claim, turn)
            case 'steal':
              break
          }
          return rule.steal(state, { now, because: `step ${step}` }, turn)
        }),
    )
    const page = await store.inspect({ lock })
    const told = `seed ${seed}:\n${history.slice(-25).join('\n')}\n`
    expect(withoutHint(theirs), told).toEqual(withoutHint(ours))
    expect(page.locks, told).toEqual(model.describe())
    // A claim is made anew now and then, since one that was withdrawn stays refused.
    if (verb === 'withdraw' && below(2) === 0) {
      claims = claims.with(index, newClaim(lock, `${seed}-${step}-new`, shapes, below))
    }
  }
}

type Shape = Pick<Claim, 'kind' | 'capacity'>

function shape(kind: LockKind, capacity: number): Shape {
  return { kind, capacity }
}

function shapesFor(which: number): readonly Shape[] {
  const whole = [shape('mutex', CAPACITY_ALL), shape('readWriteLock', CAPACITY_ALL)]
  if (which === 0) return whole
  if (which === 1) return [shape('semaphore', 3)]
  return [...whole, shape('semaphore', 3), shape('semaphore', 2)]
}

function newClaim(
  lock: string,
  id: string,
  shapes: readonly Shape[],
  below: (limit: number) => number,
): Claim {
  const { kind, capacity } = shapes[below(shapes.length)]!
  const reads = kind === 'readWriteLock' && below(2) === 0
  return {
    lock,
    id,
    kind,
    capacity,
    weight: kind === 'semaphore' ? 1 + below(capacity) : reads ? 1 : capacity,
    ttlMs: 100 + below(500),
    heartbeatMs: 20 + below(100),
    owner: { clientId: id, host: 'differential', pid: 1 },
  }
}

/** The lock by the plain rule. */
class Model {
  readonly turn: rule.Turn = { nowMs: 0, tokenFloor: 0, tombstoneLimit: 100_000, promoted: [] }
  readonly #lock: string
  readonly #state = rule.newLockState()

  constructor(lock: string) {
    this.#lock = lock
  }

  play<R>(verb: (state: rule.LockState, turn: rule.Turn) => R): R {
    this.turn.tokenFloor = (START_MS + this.turn.nowMs) * 1000
    // The plain rule may remember a withdrawn claim for longer than it has to, which nobody else need imitate.
    for (const [id, { untilMs }] of this.#state.tombstones) {
      if (untilMs <= this.turn.nowMs) this.#state.tombstones.delete(id)
    }
    return verb(this.#state, this.turn)
  }

  describe(): LockInfo[] {
    const info = this.play((state, turn) => rule.describe(this.#lock, state, turn))
    return info ? [info] : []
  }
}

async function both(theirs: () => unknown, ours: () => unknown): Promise<[unknown, unknown]> {
  return [await outcomeOf(theirs), await outcomeOf(ours)]
}

async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : String(error)
  }
}

/** The plain rule is allowed to hint at the end of a lease that was renewed, so hints need not be equal. */
function withoutHint(outcome: unknown): unknown {
  if (typeof outcome !== 'object' || outcome === null || !('holderRemainingMs' in outcome)) return outcome
  return { ...outcome, holderRemainingMs: outcome.holderRemainingMs !== undefined }
}
