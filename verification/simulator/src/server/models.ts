/**
 * The stores that a server can run. All of them run the real grant rule, as the memory store does,
 * in a server with a clock of its own.
 */
import type { Clock } from 'holdfast'
import type { Store } from 'holdfast/store'
import type { Runtime } from '../runtime.js'
import type { MachineClock } from '../world/machine-clock.js'
import type { Agenda } from '../world/agenda.js'
import { CoordinationModel, type RecipeModel } from '../coordination/service.js'
import { RedisServer } from '../redis/server.js'
import { FEW_TOMBSTONES } from '../redis/tombstones.js'
import { RedlockService } from '../redlock/service.js'
import { Server, type StoreModel } from './server.js'
import type { Service } from './service.js'
import { Truth } from './truth.js'

export const STORE_NAMES = [
  'memory',
  'wall',
  'poll',
  'redis',
  'redis-worker',
  'redlock',
  'etcd-queue',
  'zookeeper-queue',
] as const
export type StoreName = (typeof STORE_NAMES)[number]

/** What a model stands for, as the command line shows it. */
export const STORE_NOTES: Readonly<Record<StoreName, string>> = {
  memory: 'the memory store behind a network; leases end by the monotonic clock of the server',
  wall: 'the same by the wall clock of the server, as Redis and SQL have it: a step of it ends leases early or late',
  poll: 'the same without wake-ups: waiters learn of a grant only by attempting again',
  redis: 'the client side of the Redis store as it is, over a modelled client library and server',
  'redis-worker':
    'the model redis, with clients whose leases a second thread renews while the event loop is blocked',
  redlock:
    'the Redlock store as it is, over three such servers with clocks of their own, each on a way of its own',
  'etcd-queue':
    'the queue recipe of etcd and ZooKeeper as it is, over a modelled service with transactions',
  'zookeeper-queue':
    'the same over a modelled service with sessions, requests in order and servers that are behind',
}

/** How many servers each has. */
export const NODES: Readonly<Record<StoreName, number>> = {
  memory: 1,
  wall: 1,
  poll: 1,
  redis: 1,
  'redis-worker': 1,
  redlock: 3,
  'etcd-queue': 1,
  'zookeeper-queue': 1,
}

/** Over which models leases pass to other processes: the memory store cannot. */
export const ADOPTS: Readonly<Record<StoreName, boolean>> = {
  memory: false,
  wall: false,
  poll: false,
  redis: true,
  'redis-worker': true,
  redlock: true,
  'etcd-queue': true,
  'zookeeper-queue': false,
}

export function isStoreName(name: string): name is StoreName {
  return (STORE_NAMES as readonly string[]).includes(name)
}

/** Which stores end leases by the wall clock of the server. */
export function endsByWallClock(name: StoreName): boolean {
  return name === 'wall' || isRedis(name) || name === 'redlock'
}

/** Which models are the Redis store over one modelled server. */
export function isRedis(name: StoreName): name is 'redis' | 'redis-worker' {
  return name === 'redis' || name === 'redis-worker'
}

/** Which models keep entries in a queue that are bound to sessions. */
export function keepsEntries(name: StoreName): name is RecipeModel {
  return name === 'etcd-queue' || name === 'zookeeper-queue'
}

export function makeService(
  { store: name, seed }: { readonly store: StoreName; readonly seed: number },
  agenda: Agenda,
  clocks: readonly MachineClock[],
  runtime: Runtime,
): Service {
  const redis = (clock: MachineClock, kept?: number): RedisServer =>
    new RedisServer(agenda, clock, runtime, new Truth(agenda, clock), kept)
  if (name === 'redlock') {
    const nodes = clocks.map((clock) => redis(clock, FEW_TOMBSTONES))
    return new RedlockService(nodes, runtime)
  }
  const [clock] = clocks as [MachineClock]
  if (isRedis(name)) return redis(clock)
  const truth = new Truth(agenda, clock)
  if (keepsEntries(name))
    return new CoordinationModel(name, agenda, clock, { seed, truth, recipe: runtime.recipe })
  return new Server(agenda, clock, storeModel(name, agenda, runtime), truth)
}

/** With a network in front, more withdrawn claims have to be remembered than within one process. */
const TOMBSTONES_PER_LOCK = 10_000

function storeModel(
  name: 'memory' | 'wall' | 'poll',
  agenda: Agenda,
  runtime: Runtime,
): StoreModel {
  return (machine) => {
    const clock = serverTime(agenda, machine, name === 'wall' ? 'wallMs' : 'monotonicMs')
    const store = runtime.memoryStore({ clock, tombstonesPerLock: TOMBSTONES_PER_LOCK })
    return name === 'poll' ? withoutWakeUps(store) : store
  }
}

/** @param by the clock of the machine that ends leases */
function serverTime(agenda: Agenda, machine: MachineClock, by: 'monotonicMs' | 'wallMs'): Clock {
  const read = (which: 'monotonicMs' | 'wallMs'): number => {
    agenda.passMoment()
    return machine[which]()
  }
  return { monotonicMs: () => read(by), wallMs: () => read('wallMs'), timer: noTimer }
}

function noTimer(): never {
  throw new Error('A store starts no timers.')
}

function withoutWakeUps(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'traits') return { ...target.traits, wakeUp: 'poll' }
      if (name === 'watch') return () => ({ ready: undefined, close: () => undefined })
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
