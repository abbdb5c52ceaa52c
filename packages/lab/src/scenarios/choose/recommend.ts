/** Which store fits: by what the user runs, what two holders cost, and how hot the locks are. */
import type { ServiceName } from '../../services/catalogue.js'
import type { StoreName } from '../../strategies/stores.js'

export const MACHINES = ['one', 'several'] as const
export const COSTS = ['annoyance', 'money', 'disaster'] as const
export const HEATS = ['cold', 'warm', 'hot'] as const
/** Redlock is left out: a user with several Redis masters has `redis`. */
export const HAVE = [
  'redis',
  'postgres',
  'mysql',
  'zookeeper',
  'etcd',
] as const satisfies readonly ServiceName[]

export interface Answers {
  readonly machines: (typeof MACHINES)[number]
  readonly have: readonly (typeof HAVE)[number][]
  readonly cost: (typeof COSTS)[number]
  readonly heat: (typeof HEATS)[number]
}

export type Reason =
  'one-machine' | 'have-it' | 'consensus' | 'transaction' | 'fast' | 'add' | 'small'

/** What to do, or to expect, with a store. No reason to take it. */
export type Caution = 'fence' | 'redis-loses' | 'stripe-it'

export interface Recommendation {
  readonly store: StoreName
  readonly reasons: readonly Reason[]
  readonly cautions: readonly Caution[]
}

type Choice = Omit<Recommendation, 'cautions'>

/** In the order in which a hot lock moves fastest. */
const BY_SPEED = ['redis', 'etcd', 'zookeeper', 'postgres', 'mysql'] as const
/** In the order in which a lock costs least trouble. */
const BY_EASE = ['redis', 'postgres', 'mysql', 'etcd', 'zookeeper'] as const

export function recommend(answers: Answers): Recommendation {
  const { store, reasons } = answers.machines === 'one' ? onOneMachine() : amongMachines(answers)
  const cautions: Caution[] = []
  if (store === 'redis') cautions.push('redis-loses')
  if (store !== 'embedded') cautions.push('fence')
  if (answers.heat === 'hot') cautions.push('stripe-it')
  return { store, reasons, cautions }
}

function onOneMachine(): Choice {
  return { store: 'embedded', reasons: ['one-machine'] }
}

function amongMachines({ have, cost, heat }: Answers): Choice {
  const first = (order: readonly (typeof HAVE)[number][]): (typeof HAVE)[number] | undefined =>
    order.find((name) => have.includes(name))
  const consensus = first(['etcd', 'zookeeper'])
  const database = first(['postgres', 'mysql'])
  if (cost === 'disaster') {
    if (consensus !== undefined) return { store: consensus, reasons: ['consensus', 'have-it'] }
    if (database !== undefined) return { store: database, reasons: ['transaction', 'have-it'] }
    return { store: 'etcd', reasons: ['consensus', 'add'] }
  }
  // A transaction that the lock covers is worth more than a faster hand-off.
  if (cost === 'money' && database !== undefined) {
    return { store: database, reasons: ['transaction', 'have-it'] }
  }
  const known = first(heat === 'hot' ? BY_SPEED : BY_EASE)
  if (known === undefined) return { store: 'redis', reasons: ['small'] }
  return { store: known, reasons: heat === 'hot' ? ['fast', 'have-it'] : ['have-it'] }
}
