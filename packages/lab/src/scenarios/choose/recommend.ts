/** Which store fits, by what somebody runs, what a mistake costs, and how hot the locks are. */
import type { ServiceName } from '../../services/catalogue.js'
import type { StoreName } from '../../strategies/stores.js'

export const MACHINES = ['one', 'several'] as const
export const COSTS = ['annoyance', 'money', 'disaster'] as const
export const HEATS = ['cold', 'warm', 'hot'] as const
/**
 * Redlock is left out: whoever runs that many Redis masters has `redis`, and the lab says elsewhere
 * what it lacks.
 */
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
  | 'one-machine'
  | 'have-it'
  | 'consensus'
  | 'transaction'
  | 'fast'
  | 'fence'
  | 'redis-loses'
  | 'add'
  | 'small'
  | 'stripe-it'

export interface Recommendation {
  readonly store: StoreName
  readonly reasons: readonly Reason[]
}

/** In the order in which a hot lock moves fastest. */
const BY_SPEED = ['redis', 'etcd', 'zookeeper', 'postgres', 'mysql'] as const
/** In the order in which a lock costs least trouble. */
const BY_EASE = ['redis', 'postgres', 'mysql', 'etcd', 'zookeeper'] as const

export function recommend(answers: Answers): Recommendation {
  const { store, reasons } = answers.machines === 'one' ? onOneMachine() : amongMachines(answers)
  const more: Reason[] = []
  if (store === 'redis') more.push('redis-loses')
  else if (store !== 'embedded') more.push('fence')
  if (answers.heat === 'hot') more.push('stripe-it')
  return { store, reasons: [...reasons, ...more] }
}

function onOneMachine(): Recommendation {
  return { store: 'embedded', reasons: ['one-machine'] }
}

function amongMachines({ have, cost, heat }: Answers): Recommendation {
  const first = (order: readonly (typeof HAVE)[number][]): (typeof HAVE)[number] | undefined =>
    order.find((name) => have.includes(name))
  const consensus = first(['etcd', 'zookeeper'])
  const database = first(['postgres', 'mysql'])
  if (cost === 'disaster') {
    if (consensus !== undefined) return { store: consensus, reasons: ['consensus', 'have-it'] }
    if (database !== undefined) return { store: database, reasons: ['transaction', 'have-it'] }
    return { store: 'etcd', reasons: ['consensus', 'add'] }
  }
  if (cost === 'money' && database !== undefined && heat !== 'hot') {
    return { store: database, reasons: ['transaction', 'have-it'] }
  }
  const known = first(heat === 'hot' ? BY_SPEED : BY_EASE)
  if (known === undefined) return { store: 'redis', reasons: ['small'] }
  return { store: known, reasons: heat === 'hot' ? ['fast', 'have-it'] : ['have-it'] }
}
