/**
 * A process with one lock of the ladder. The conductor sends it one order at a time.
 */
import {
  CONTROLS,
  type Command,
  type ControlLease,
  type ControlLock,
  type ControlWorld,
  type RedisConnection,
} from '@holdfast/broken-locks'
import type { RealConnection } from '@holdfast/broken-locks/ioredis'
import { createLocks, systemClock, systemRandom, type Locks } from 'holdfast'

export const HOLDFAST = 'holdfast'

export interface OpenSettings {
  /** The id of a control, or `holdfast`. */
  readonly subject: string
  readonly redis: string
  readonly lock: string
  readonly ttlMs: number
  /** The process kills itself when the first command of an acquire has been answered. */
  readonly dieAfterFirst?: boolean
}

export interface Grant {
  readonly granted: boolean
  readonly token?: string
}

interface Held {
  readonly held: boolean
  readonly token?: bigint
  release(): Promise<unknown>
}

interface Lockable {
  acquire(signal: AbortSignal): Promise<Held>
  close(): Promise<void>
}

const TIMEOUT_MS = 2000
const RETRY_MS = 20

let lock: Lockable | undefined
const leases: Held[] = []

export async function openLock(settings: OpenSettings): Promise<void> {
  lock = await (settings.subject === HOLDFAST ? openHoldfast(settings) : openControl(settings))
}

export async function acquireLock({ maxWaitMs }: { readonly maxWaitMs: number }): Promise<Grant> {
  const waitLimit = AbortSignal.timeout(Math.round(maxWaitMs))
  try {
    const lease = await lock?.acquire(waitLimit)
    if (!lease) return { granted: false }
    leases.push(lease)
    return { granted: true, ...(lease.token === undefined ? {} : { token: String(lease.token) }) }
  } catch {
    // It gave up. What else may have happened, the others show.
    return { granted: false }
  }
}

/** Whether the process believes that it holds the lock: the first thing that it looks at. */
export async function believes(): Promise<boolean> {
  return leases.some(({ held }) => held)
}

export async function releaseLock(): Promise<void> {
  await leases.shift()?.release()
}

export async function closeLock(): Promise<void> {
  leases.length = 0
  await lock?.close()
  lock = undefined
}

async function openHoldfast({ redis, lock: name, ttlMs }: OpenSettings): Promise<Lockable> {
  const [{ Redis }, { redisStore }] = await Promise.all([
    import('ioredis'),
    import('holdfast/redis'),
  ])
  const client = new Redis(redis)
  client.on('error', () => {})
  const locks: Locks = createLocks(redisStore({ client }), { ttlMs })
  return {
    acquire: (signal) => locks.mutex(name).acquire({ signal }),
    async close() {
      await locks.close({ graceMs: 0 }).catch(() => {})
      client.disconnect()
    },
  }
}

async function openControl({
  subject,
  redis,
  lock: name,
  ttlMs,
  dieAfterFirst = false,
}: OpenSettings): Promise<Lockable> {
  const control = CONTROLS.find(({ id }) => id === subject)
  if (!control) throw new Error(`There is no control "${subject}".`)
  const { connectRedis } = await import('@holdfast/broken-locks/ioredis')
  const real = connectRedis(redis)
  const world: ControlWorld = {
    clock: systemClock,
    random: systemRandom,
    redis: dieAfterFirst ? dying(real) : real,
  }
  const one: ControlLock = control.create(world, {
    lock: name,
    ttlMs,
    requestTimeoutMs: TIMEOUT_MS,
    retryMs: RETRY_MS,
  })
  return {
    acquire: (signal): Promise<ControlLease> => one.acquire(signal),
    close: async () => real.close(),
  }
}

function die(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('dead')
}

/** Dies as a process dies: it sends nothing any more, and no peer learns of it. */
function dying(connection: RealConnection): RedisConnection {
  return {
    command: (...command: Command) => connection.command(...command).then(die),
    script: (script, keys, args) => connection.script(script, keys, args).then(die),
    subscribe: (channel, listener) => connection.subscribe(channel, listener),
  }
}
