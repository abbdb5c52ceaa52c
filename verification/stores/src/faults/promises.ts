/** What several stores promise under a fault, and why some cannot meet it. */
import type { Promises } from '../descriptor.js'
import { FAULT_KINDS } from './catalogue.js'
import type { Cell, Property } from './cells.js'

const promised: Cell = { verdict: 'promised' }
const STALLED = absent(
  'not driven here: a server that waits for its disk answers nothing, as in stall',
)

/** Everything is promised, except for these faults. */
export function everywhere(rest: Partial<Promises>): Promises {
  const row = Object.fromEntries(FAULT_KINDS.map((kind) => [kind, promised])) as Record<
    keyof Promises,
    Cell
  >
  return { ...row, 'disk-stalled': STALLED, ...rest }
}

/** The properties that are not promised. */
export function without(properties: readonly Property[], because: string): Cell {
  return { verdict: 'not promised', without: properties, because }
}

/** The fault cannot meet the store, or is not driven here. */
export function absent(because: string): Cell {
  return { verdict: 'absent', because }
}

export const NO_FOLLOWERS = absent('there is no primary with replicas here')
export const ONE_SERVER = absent('there is one server, and no other to lead or to vote')
export const NO_SCRIPTS = absent('it keeps no scripts that a server could forget')

const NO_MEMBERS = absent('there are no members that could be parted')
const NO_SERVER = absent('there is no server')
const MONOTONIC = absent('leases end by the monotonic clock of the machine, which cannot be set')

export const NO_REPLICATION = {
  'leader-isolated': NO_MEMBERS,
  'leader-deposed': NO_MEMBERS,
  'leader-reset': NO_MEMBERS,
  'follower-isolated': NO_MEMBERS,
  'primary-kill': NO_FOLLOWERS,
  'replica-kill': NO_FOLLOWERS,
} as const

/** A store of one process, or of one machine. */
export const SERVERLESS = {
  ...NO_REPLICATION,
  abandon: MONOTONIC,
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
  'clock-forward': MONOTONIC,
  'clock-back': MONOTONIC,
  failover: NO_SERVER,
  'endpoint-moves': NO_SERVER,
  'leader-kill': ONE_SERVER,
  'quorum-loss': ONE_SERVER,
} as const

/** Leases end by the wall clock of the server. */
export const SERVER_CLOCK = {
  'clock-forward': without(
    ['exclusion'],
    'leases end by the clock of the server: a step forward ends them early',
  ),
  'clock-back': without(
    ['liveness', 'ghost'],
    'leases end by the clock of the server: a step back lets them last longer',
  ),
} as const
