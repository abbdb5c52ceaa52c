/**
 * The fault of each rung. The same script is played with the rung, which breaks, and with the next,
 * which does not. Each answers whether the lock broke.
 */
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import type { Keep } from '../../visit.js'
import type { Scene } from './scene.js'

export interface Fault {
  /** Which texts tell of it. */
  readonly id: string
  /** The control that it breaks. */
  readonly breaks: string
  /** What does not break any more: a control, or Holdfast. */
  readonly curedBy: string
  readonly play: (scene: Scene, servers: FaultServers) => Promise<boolean>
}

/** Servers of a fault's own, which are ended with it. */
export interface FaultServers {
  start(): Promise<RedisServer>
}

const killedHolder: Fault = {
  id: 'v1-setnx',
  breaks: 'v1-setnx',
  curedBy: 'v2-setnx-expire',
  async play(scene) {
    const [a, b] = [await scene.client(), await scene.client()]
    await a.acquire(scene.ttlMs)
    await scene.wait(scene.ttlMs / 4)
    await a.kill('kill')
    return !(await b.acquire(3 * scene.ttlMs))
  },
}

const killedBetween: Fault = {
  id: 'v2-setnx-expire',
  breaks: 'v2-setnx-expire',
  curedBy: 'v3-plain-del',
  async play(scene) {
    const [a, b] = [await scene.client({ dieAfterFirst: true }), await scene.client()]
    await a.acquire(scene.ttlMs)
    a.mark('kill-between')
    return !(await b.acquire(3 * scene.ttlMs))
  },
}

const plainDel: Fault = {
  id: 'v3-plain-del',
  breaks: 'v3-plain-del',
  curedBy: 'v4-owner',
  async play(scene) {
    const [a, b, c] = [await scene.client(), await scene.client(), await scene.client()]
    await a.acquire(scene.ttlMs)
    // B gets in when A's lock expires under A's work.
    await b.acquire(3 * scene.ttlMs)
    await a.believes(false)
    await scene.wait(scene.ttlMs / 4)
    a.mark('done-and-release')
    await a.release()
    const granted = await c.acquire(scene.ttlMs / 3)
    const both = (await b.believes(!granted)) && granted
    await scene.wait(scene.ttlMs / 4)
    return both
  },
}

const longWork: Fault = {
  id: 'v4-owner',
  breaks: 'v4-owner',
  curedBy: 'v5-watchdog',
  async play(scene) {
    const [a, b] = [await scene.client(), await scene.client()]
    await a.acquire(scene.ttlMs)
    const granted = await b.acquire(2 * scene.ttlMs)
    const both = (await a.believes(!granted)) && granted
    await scene.wait(scene.ttlMs / 4)
    return both
  },
}

const nestedCall: Fault = {
  id: 'v5-watchdog',
  breaks: 'v5-watchdog',
  curedBy: 'v6-reentrant',
  async play(scene) {
    const a = await scene.client()
    await a.acquire(scene.ttlMs)
    await scene.wait(scene.ttlMs / 4)
    a.mark('takes-again')
    return !(await a.acquire(2 * scene.ttlMs))
  },
}

const stoppedHolder: Fault = {
  id: 'v6-reentrant',
  breaks: 'v6-reentrant',
  curedBy: 'holdfast',
  async play(scene) {
    const [a, b] = [await scene.client(), await scene.client()]
    await a.acquire(scene.ttlMs)
    await scene.wait(scene.ttlMs / 4)
    a.stop('stop')
    const granted = await b.acquire(3 * scene.ttlMs)
    // The question is there when it wakes: it answers before it can have heard anything of the
    // lock.
    const believes = a.believes(!granted)
    await scene.wait(0)
    a.goOn('continue')
    const both = (await believes) && granted
    await scene.wait(scene.ttlMs / 4)
    return both
  },
}

const lostGrant: Fault = {
  id: 'v6-failover',
  breaks: 'v6-reentrant',
  curedBy: 'holdfast',
  async play(scene, servers) {
    const [primary, replica] = [await servers.start(), await servers.start()]
    await replica.command('REPLICAOF', primary.host, String(primary.port))
    await untilLinked(replica)
    const [a, b] = [
      await scene.client({ redis: primary.url }),
      await scene.client({ redis: replica.url }),
    ]
    // What the primary writes from now on, the replica never hears of.
    replica.pause()
    await a.acquire(scene.ttlMs)
    await primary.kill()
    replica.resume()
    await replica.command('REPLICAOF', 'NO', 'ONE')
    a.mark('primary-died')
    const granted = await b.acquire(3 * scene.ttlMs)
    const both = granted && (await a.believes(false))
    await scene.wait(scene.ttlMs / 4)
    // Both believe. The shop has seen B's token, and only a token shows it that A comes too late.
    return both && !isRefused(a.token, b.token)
  },
}

/** What a protected resource does that remembers the largest token. */
function isRefused(token: bigint | undefined, largest: bigint | undefined): boolean {
  return token !== undefined && largest !== undefined && token < largest
}

const LINK_MS = 10_000

async function untilLinked(replica: RedisServer): Promise<void> {
  const endMs = performance.now() + LINK_MS
  while (!(await replica.command('INFO', 'replication')).includes('master_link_status:up')) {
    if (performance.now() > endMs) throw new Error('The replica did not reach its primary.')
    await new Promise((resolve) => void setTimeout(resolve, 20))
  }
}

export const FAULTS: readonly Fault[] = [
  killedHolder,
  killedBetween,
  plainDel,
  longWork,
  nestedCall,
  stoppedHolder,
  lostGrant,
]

/** Runs `use` with servers that are gone afterwards. */
export async function withFaultServers<T>(
  keep: Keep,
  use: (servers: FaultServers) => Promise<T>,
): Promise<T> {
  const started: RedisServer[] = []
  const end = async (): Promise<void> => {
    await Promise.all(started.splice(0).map((server) => server.stop()))
  }
  keep(end)
  try {
    return await use({
      async start() {
        const server = await startRedis()
        started.push(server)
        return server
      },
    })
  } finally {
    await end()
  }
}
