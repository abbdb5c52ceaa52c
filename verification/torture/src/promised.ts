/**
 * What is promised: one table of store and fault. A run is judged by what every fault in it leaves
 * promised, and the guarantees page is made of the same table.
 */
import type { Cell, Property } from './cells.js'
import { MEMBER_MOVES, PLANNED_FAILOVER, SENTINELS_RESET } from './moved-endpoints.js'
import { FAULT_KINDS, isFaultKind, type AnyFaultKind, type FaultKind } from './faults/catalogue.js'
import type { StoreName } from './stores.js'

export { PROPERTIES, PROPERTY_NAMES, type Cell, type Property } from './cells.js'

type Row = Readonly<Record<FaultKind, Cell>>

const promised: Cell = { verdict: 'promised' }
const without = (properties: readonly Property[], because: string): Cell => ({
  verdict: 'not promised',
  without: properties,
  because,
})
const absent = (because: string): Cell => ({ verdict: 'absent', because })

const NO_SERVER = absent('there is no server')
const ONE_SERVER = absent('there is one server, and no other to lead or to vote')
const NO_SCRIPTS = absent('it keeps no scripts that a server could forget')
const DATABASE = absent(
  'not driven here: without memory or disk the database refuses the transaction, and the attempt fails with it',
)
const NO_FOLLOWERS = absent('there is no primary with replicas here')
const NO_REPLICA = absent(
  'a replica that takes over lacks what it lacks: the database’s own affair, not driven here',
)
const NO_CLOCK = absent('its sessions count by a monotonic clock; not driven here')
const NEVER_EMPTY = absent(
  'a database that comes back empty has no lock table, and every request is refused',
)

const NO_MEMBERS = absent('there are no members that could be parted')

const NO_REPLICATION = {
  'leader-isolated': NO_MEMBERS,
  'leader-deposed': NO_MEMBERS,
  'leader-reset': NO_MEMBERS,
  'follower-isolated': NO_MEMBERS,
  'primary-kill': NO_FOLLOWERS,
  'replica-kill': NO_FOLLOWERS,
} as const

const STALLED = absent(
  'not driven here: a server that waits for its disk answers nothing, as in stall',
)

const everywhere = (rest: Partial<Row>): Row => {
  const row = Object.fromEntries(FAULT_KINDS.map((kind) => [kind, promised])) as Record<
    FaultKind,
    Cell
  >
  return { ...row, 'disk-stalled': STALLED, ...rest }
}

const SERVERLESS = {
  ...NO_REPLICATION,
  abandon: absent('leases end by the monotonic clock of the machine, which cannot be set'),
  latency: NO_SERVER,
  'drop-replies': NO_SERVER,
  'black-hole': NO_SERVER,
  reset: NO_SERVER,
  stall: NO_SERVER,
  'server-kill': NO_SERVER,
  'restart-empty': NO_SERVER,
  flush: NO_SERVER,
  'script-flush': NO_SERVER,
  oom: NO_SERVER,
  'clock-forward': absent('leases end by the monotonic clock of the machine, which cannot be set'),
  'clock-back': absent('leases end by the monotonic clock of the machine, which cannot be set'),
  failover: NO_SERVER,
  'endpoint-moves': NO_SERVER,
  'leader-kill': ONE_SERVER,
  'quorum-loss': ONE_SERVER,
} as const

const LOST_WRITES = without(
  ['exclusion', 'ghost'],
  'a replica that had not received a grant, or a release, does not know of it',
)

const SERVER_CLOCK = {
  'clock-forward': without(
    ['exclusion'],
    'leases end by the clock of the server: a step forward ends them early',
  ),
  'clock-back': without(
    ['liveness', 'ghost'],
    'leases end by the clock of the server: a step back lets them last longer',
  ),
} as const

const REDIS = {
  ...NO_REPLICATION,
  'restart-empty': without(['exclusion'], 'a server that persists nothing forgets who holds'),
  flush: without(
    ['exclusion'],
    'deleting the keys deletes the locks; holders learn it at their next renewal',
  ),
  ...SERVER_CLOCK,
  failover: LOST_WRITES,
  'leader-kill': ONE_SERVER,
  'quorum-loss': ONE_SERVER,
} as const

const ASYNCHRONOUS = without(
  ['exclusion', 'ghost'],
  'replication is asynchronous, and a replaced primary serves clients that still reach it until it learns of that',
)

const ONE_REDIS = absent('as on one server: see redis')

const CUT_PRIMARY = absent(
  'not driven here: a primary that is cut off grants to clients that reach it until it notices, as after stall',
)

/** A primary with replicas that take over, by any means. */
const REPLICATED = {
  flush: REDIS.flush,
  stall: ASYNCHRONOUS,
  'server-kill': ASYNCHRONOUS,
  'primary-kill': ASYNCHRONOUS,
  failover: LOST_WRITES,
  'endpoint-moves': SENTINELS_RESET,
  'restart-empty': absent(
    'a primary that comes back empty before it is replaced empties its replicas: see redis',
  ),
  'clock-forward': ONE_REDIS,
  'clock-back': ONE_REDIS,
  abandon: ONE_REDIS,
  'disk-full': ONE_REDIS,
  'leader-kill': absent('the leader is called a primary here: see primary-kill'),
  'leader-isolated': CUT_PRIMARY,
  'leader-deposed': CUT_PRIMARY,
  'leader-reset': CUT_PRIMARY,
  'follower-isolated': absent(
    'not driven here: clients that reach a replica alone get nothing from it, as in black-hole',
  ),
} as const

const SQL = {
  ...NO_REPLICATION,
  'restart-empty': NEVER_EMPTY,
  flush: NEVER_EMPTY,
  'script-flush': NO_SCRIPTS,
  oom: DATABASE,
  'disk-full': DATABASE,
  failover: NO_REPLICA,
  ...SERVER_CLOCK,
  'leader-kill': ONE_SERVER,
  'quorum-loss': ONE_SERVER,
  'endpoint-moves': promised,
} as const

const CONSENSUS = {
  abandon: absent('nothing is kept beyond a session; not driven here'),
  'primary-kill': NO_FOLLOWERS,
  'replica-kill': NO_FOLLOWERS,
  'restart-empty': absent(
    'a member that lost its data must be removed and added again: the cluster refuses it',
  ),
  flush: absent('deleting the keys by hand deletes the locks'),
  'script-flush': NO_SCRIPTS,
  'endpoint-moves': MEMBER_MOVES,
  failover: absent('a member that takes over has every acknowledged write: see leader-kill'),
  'disk-full': absent('not driven here: a member without room fails, as in server-kill'),
} as const

const OLD_LEADER = without(
  ['exclusion'],
  'etcd before 3.4.31 and 3.5.13: a leader that stood still ends sessions, as it wakes, that its successor has kept alive ' +
    '(etcd’s issue 15247); `holdfast doctor` warns of such servers',
)

export const PROMISES: Readonly<Record<StoreName, Row>> = {
  memory: everywhere({
    ...SERVERLESS,
    abandon: absent('the locks die with the process that has them'),
    kill: absent('the locks die with the process that has them'),
    'disk-full': absent('nothing is written'),
  }),
  embedded: everywhere(SERVERLESS),
  redis: everywhere(REDIS),
  'redis-sentinel': everywhere(REPLICATED),
  'redis-cluster': everywhere({
    ...REPLICATED,
    'quorum-loss': ASYNCHRONOUS,
    'endpoint-moves': PLANNED_FAILOVER,
  }),
  redlock: everywhere({
    ...REDIS,
    'restart-empty': without(
      ['exclusion', 'tokens', 'counter'],
      'a server that forgot its vote votes again, makes a second majority, and covers no token',
    ),
    flush: without(
      ['exclusion', 'tokens', 'counter'],
      'a server that forgot its vote votes again, makes a second majority, and covers no token',
    ),
    'clock-forward': without(
      ['exclusion'],
      'a server that ends a lease early votes again, and makes a second majority',
    ),
    failover: absent('its servers have no replicas'),
    'endpoint-moves': absent('its servers have no replicas; each alone is as in redis'),
    'quorum-loss': promised,
  }),
  postgres: everywhere(SQL),
  mysql: everywhere(SQL),
  etcd: everywhere({
    ...CONSENSUS,
    'disk-stalled': promised,
    stall: OLD_LEADER,
    'quorum-loss': OLD_LEADER,
    oom: absent('not driven here: NOSPACE is tested with the store itself'),
    'clock-forward': absent(
      'its leases count by a monotonic clock; a Go program’s clock cannot be set apart',
    ),
    'clock-back': absent(
      'its leases count by a monotonic clock; a Go program’s clock cannot be set apart',
    ),
  }),
  zookeeper: everywhere({
    'clock-forward': NO_CLOCK,
    'clock-back': NO_CLOCK,
    ...CONSENSUS,
    oom: absent('not driven here: a Java server without memory ends, as in server-kill'),
  }),
}

/** Faults that a store can meet here. */
export function faultsOf(store: StoreName): FaultKind[] {
  return FAULT_KINDS.filter((kind) => PROMISES[store][kind].verdict !== 'absent')
}

/** The faults under which everything is promised: the default of a run. */
export function promisedFaults(store: StoreName): FaultKind[] {
  return FAULT_KINDS.filter((kind) => PROMISES[store][kind].verdict === 'promised')
}

export interface Waiver {
  readonly property: Property
  readonly because: string
}

/** What is not promised under these faults, and why. */
export function waivers(
  store: StoreName,
  kinds: Iterable<AnyFaultKind>,
  fenced: boolean,
): Waiver[] {
  const found = new Map<Property, string>()
  for (const kind of new Set(kinds)) {
    if (!isFaultKind(kind)) continue
    const cell = PROMISES[store][kind]
    if (cell.verdict !== 'not promised') continue
    for (const property of cell.without) found.set(property, cell.because)
  }
  // A lock without tokens leaves late writes to the resource, under any fault.
  if (!fenced)
    found.set('counter', 'there are no fencing tokens, so that a late write is not refused')
  const loss = found.get('exclusion')
  if (loss !== undefined && [...kinds].includes('clock-back') && [...kinds].some(isLoss)) {
    const because = 'a server that lost its counter begins from its clock, which was set back'
    found.set('tokens', because).set('counter', because)
  }
  return [...found].map(([property, because]) => ({ property, because }))
}

function isLoss(kind: AnyFaultKind): boolean {
  return kind === 'restart-empty' || kind === 'flush' || kind === 'failover'
}
