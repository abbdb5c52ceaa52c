/** What `doctor` reports about a ZooKeeper ensemble. */
import { connect as open } from 'node:net'
import type { Server } from './connection/connection.js'
import { checkOptions, DEFAULT_TICK_MS, parseConnect, type ZooKeeperOptions } from './options.js'
import { ZooKeeperSession } from './session/session.js'

/** What `doctor` reports about one server of ZooKeeper. */
export interface ZooKeeperServer {
  readonly address: string
  /** Whether a connection could be made. */
  readonly answers: boolean
  /** From the command `srvr`, where the server allows it (`4lw.commands.whitelist`). */
  readonly version?: string
  /** `leader`, `follower`, `observer` or `standalone`. */
  readonly mode?: string
}

/** What `doctor` reports about ZooKeeper. */
export interface ZooKeeperDiagnosis {
  readonly servers: readonly ZooKeeperServer[]
  /** The session that leases of the TTL need, in milliseconds; it was granted. */
  readonly sessionMs: number
}

const ANSWER_MS = 2000

/**
 * Asks each server how it is, and opens a session as leases of `ttlMs` need it.
 * @throws LockUsageError when the options make no sense; LockError when no session, or another one,
 * is granted.
 */
export async function diagnose(
  options: ZooKeeperOptions,
  ttlMs = 30_000,
): Promise<ZooKeeperDiagnosis> {
  checkOptions(options, 'diagnose')
  const servers = await examineServers(options)
  const sessionMs = Math.ceil((ttlMs + (options.tickMs ?? DEFAULT_TICK_MS)) / 1000) * 1000 + 1000
  const session = await ZooKeeperSession.open(options, sessionMs, 'exact')
  await session.end()
  return { servers, sessionMs }
}

/**
 * Connects to each server, and returns what it reports.
 * @throws LockUsageError when the options make no sense.
 */
export async function examineServers(
  options: ZooKeeperOptions,
): Promise<readonly ZooKeeperServer[]> {
  checkOptions(options, 'examineServers')
  return Promise.all(parseConnect(options.connect).servers.map(examine))
}

async function examine(server: Server): Promise<ZooKeeperServer> {
  const { host, port } = server
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const answer = await ask(server, 'srvr').catch(() => undefined)
  if (answer === undefined) return { address, answers: false }
  const version = /^Zookeeper version: ([\d.]+)/m.exec(answer)?.[1]
  const mode = /^Mode: (\w+)$/m.exec(answer)?.[1]
  return {
    address,
    answers: true,
    ...(version === undefined ? {} : { version }),
    ...(mode === undefined ? {} : { mode }),
  }
}

function ask({ host, port }: Server, word: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = open(port, host, () => socket.end(word))
    let answer = ''
    socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error('no answer')))
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => (answer += text))
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

/**
 * Why locks on this version of ZooKeeper are in danger, or undefined when no such fault is known of
 * it. In 3.5 the releases before 3.5.5 were alpha and beta ones; ZOOKEEPER-2355 (an ephemeral node
 * outlives its session) was fixed on the way.
 */
export function knownFault(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version
    .split('.')
    .map((part) => Number.parseInt(part, 10))
  if (major < 3 || (major === 3 && minor < 5)) {
    return 'it has no container nodes; Holdfast needs ZooKeeper 3.5 or later'
  }
  return major === 3 && minor === 5 && patch < 5
    ? 'it is no stable release, and is suspected to keep entries of dead clients forever (ZOOKEEPER-2355)'
    : undefined
}
