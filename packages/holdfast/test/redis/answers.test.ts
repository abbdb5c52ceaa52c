/**
 * No answer is taken for that to another question, however often connections break. Through each
 * client library.
 */
import { describe, expect, test } from 'vitest'
import { Proxy } from '@holdfast/servers/proxy'
import {
  openClient,
  openClusterClient,
  openSentinelClient,
  LIBRARIES,
} from '@holdfast/servers/redis-clients'
import { SENTINEL_NAME, startSentinels } from '@holdfast/servers/redis-sentinel'
import { eventually } from '@holdfast/servers/eventually'
import { clusterTransportOf, transportOf } from '../../dist/stores/redis/connection/open.js'
import type { Transport } from '../../dist/stores/redis/connection/transports/transport.js'
import { after, startServer, startTestCluster } from './support/world.js'

/** Returns what it was sent, which no other question has for an answer. */
const echo = { sha: '', source: 'return ARGV[1]' }
const UNDER_WAY = 20
const BREAKS = 25
/** How many answers come before the next break. */
const ANSWERED = 50
const LIMIT_MS = 60_000

async function proxyTo(port: number): Promise<Proxy> {
  const proxy = await Proxy.to(port)
  after(() => proxy.close())
  return proxy
}

/**
 * Asks without a pause, also in the very turn in which the connection breaks, and counts the
 * answers.
 */
async function askWhileBreaking(
  transport: Transport,
  breakAll: () => void,
): Promise<{ right: number; wrong: number }> {
  const answers = { right: 0, wrong: 0 }
  /**
   * What is in flight since the last break. Questions that a library lost are not waited for.
   */
  let underWay = new Set<string>()
  let [asked, stopped] = [0, false]
  const ask = async (): Promise<void> => {
    const question = String((asked += 1))
    const mine = underWay.add(question)
    try {
      const answer = await transport.run('source', echo, [], [question])
      answers[answer === question ? 'right' : 'wrong'] += 1
    } catch {
      // The connection was just broken.
    }
    mine.delete(question)
  }
  const goOn = (): void => {
    if (stopped) return
    if (underWay.size < UNDER_WAY) void ask()
    setImmediate(goOn)
  }
  goOn()
  try {
    for (let times = 0; times < BREAKS; times += 1) {
      const { right, wrong } = answers
      breakAll()
      underWay = new Set()
      await eventually(
        'there are answers again',
        () => answers.right + answers.wrong > right + wrong + ANSWERED,
      )
    }
  } finally {
    stopped = true
  }
  return answers
}

for (const library of LIBRARIES) {
  describe(`through ${library}`, () => {
    test('one server', { timeout: LIMIT_MS }, async () => {
      const server = await startServer()
      const proxy = await proxyTo(server.port)
      const { client, end } = openClient(library, `redis://127.0.0.1:${proxy.port}`)
      after(end)
      const transport = transportOf(client)
      const { right, wrong } = await askWhileBreaking(transport, () => proxy.reset())
      expect(wrong).toBe(0)
      expect(right).toBeGreaterThan(BREAKS)
    })

    test('the server that Sentinels name', { timeout: LIMIT_MS }, async () => {
      const group = await startSentinels()
      after(() => group.stop())
      const [primary] = group.servers
      const proxy = await proxyTo(primary?.port ?? 0)
      const routes = { [`127.0.0.1:${primary?.port}`]: { host: '127.0.0.1', port: proxy.port } }
      const { client, end } = openSentinelClient(
        library,
        { name: SENTINEL_NAME, ports: group.sentinelPorts },
        library.startsWith('io') ? { natMap: routes } : { nodeAddressMap: routes },
      )
      after(end)
      const { right, wrong } = await askWhileBreaking(transportOf(client), () => proxy.reset())
      expect(wrong).toBe(0)
      expect(right).toBeGreaterThan(BREAKS)
    })

    test('a member of a Cluster', { timeout: LIMIT_MS }, async () => {
      const cluster = await startTestCluster()
      const { client, end } = openClusterClient(library, cluster.ports)
      after(end)
      const [port = 0] = cluster.ports
      const proxy = await proxyTo(port)
      const members = clusterTransportOf(client)
      if (!members) throw new Error('It is a client of a Cluster.')
      // Until its client knows the members.
      await members.command('CLUSTER', 'SLOTS')
      const member = await members.open({ host: '127.0.0.1', port: proxy.port })
      after(() => member.close())
      const { right, wrong } = await askWhileBreaking(member.transport, () => proxy.reset())
      expect(wrong).toBe(0)
      expect(right).toBeGreaterThan(BREAKS)
    })
  })
}
