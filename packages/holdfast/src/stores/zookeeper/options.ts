/** What `zookeeperStore` is given, and what of it makes sense. */
import { LockUsageError } from '../../errors.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { withoutPassword } from '../coordination/connection/address-without-password.js'
import type { Server } from './connection/connection.js'

/** The `tickTime` that ZooKeeper has by default, in milliseconds. */
export const DEFAULT_TICK_MS = 2000

/** Where ZooKeeper is, and how a client proves who it is. */
export interface ZooKeeperOptions {
  /**
   * The servers and, if you like, a path that stands before all others:
   * `h1:2181,h2:2181,h3:2181/locks`.
   */
  readonly connect: string
  /** Who this client is to ZooKeeper. Nodes that it makes are then open to this identity alone. */
  readonly auth?:
    { readonly scheme: 'digest'; readonly user: string; readonly password: string } | undefined
  /**
   * The servers' `tickTime`, in milliseconds, or a larger one. Followers report to the leader each
   * half tick which clients live: a session is longer than its leases by a tick and a second.
   * Default 2 000, as ZooKeeper has it.
   */
  readonly tickMs?: number | undefined
  /** How long to wait for a first connection, in milliseconds. Default 4 000. */
  readonly connectTimeoutMs?: number | undefined
}

const KEYS: KnownKeys<ZooKeeperOptions> = { connect: 1, auth: 1, tickMs: 1, connectTimeoutMs: 1 }
const AUTH_KEYS: KnownKeys<NonNullable<ZooKeeperOptions['auth']>> = {
  scheme: 1,
  user: 1,
  password: 1,
}

export interface Ensemble {
  readonly servers: readonly Server[]
  /** What stands before all paths, without a slash at its end; often nothing. */
  readonly chroot: string
}

/** @param connect as `checkOptions` has found it right */
export function parseConnect(connect: string): Ensemble {
  const slash = connect.indexOf('/')
  const hosts = slash < 0 ? connect : connect.slice(0, slash)
  const servers = hosts.split(',').map((text) => {
    const colon = text.lastIndexOf(':')
    return {
      host: text.slice(0, colon).replace(/^\[|\]$/g, ''),
      port: Number(text.slice(colon + 1)),
    }
  })
  return { servers, chroot: slash < 0 ? '' : connect.slice(slash) }
}

/**
 * @param call the public call whose options these are
 * @throws LockUsageError which names the mistake.
 */
export function checkOptions(options: ZooKeeperOptions, call: string): void {
  checkKeys(call, options, KEYS, { store: 'zookeeper' })
  const { connect, auth, tickMs = DEFAULT_TICK_MS, connectTimeoutMs = 4000 } = options
  if (auth) checkKeys(`auth of ${call}`, auth, AUTH_KEYS, { store: 'zookeeper' })
  const sound =
    typeof connect === 'string' &&
    /^[^\s/,@]+:\d{1,5}(?:,[^\s/,@]+:\d{1,5})*(?:\/[^\s]*[^\s/])?$/.test(connect)
  if (!sound) {
    throw new LockUsageError(
      `zookeeperStore needs connect, such as "h1:2181,h2:2181/chroot"; ${withoutPassword(connect)} is none. User and password ` +
        'go into the option auth.',
      { store: 'zookeeper' },
    )
  }
  if (auth && (!auth.user || typeof auth.password !== 'string' || auth.user.includes(':'))) {
    throw new LockUsageError(
      'The auth of zookeeperStore needs a user without a colon, and a password.',
      {
        store: 'zookeeper',
      },
    )
  }
  for (const [name, value] of Object.entries({ tickMs, connectTimeoutMs })) {
    if (!(Number.isFinite(value) && value > 0)) {
      throw new LockUsageError(`${name} must be a number of milliseconds, not ${String(value)}.`, {
        store: 'zookeeper',
      })
    }
  }
}
