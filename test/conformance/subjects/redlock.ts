/** The Redlock store as a subject: five independent servers. */
import { join } from 'node:path'
import type { Subject } from '@holdfast/conformance'
import { redlockStore } from 'holdfast/redlock'
import type { Store } from 'holdfast/store'
import { openClient, type OpenClient } from '@holdfast/servers/redis-clients'
import { startRedis } from '@holdfast/servers/redis'
import { raceCount, serverKillRounds } from '../../support/plan.js'
import { closing } from './closing.js'
import { REMEMBERS_FEW } from './redis.js'
import { mixed } from '../workers/redlock-libraries.mjs'
import { SHORT_TTL_MS, SLACK_MS } from '../runner.js'

const NODES = 5
/** Five servers and eight cases share the machine. */
const NODE_TIMEOUT_MS = 2000

export interface RedlockSubject {
  readonly subject: Subject
  /** Ends the servers and the clients. */
  end(): Promise<void>
}

export async function redlockSubject(): Promise<RedlockSubject> {
  const servers = await Promise.all(
    Array.from({ length: NODES }, () => startRedis({ appendOnly: true })),
  )
  const urls = servers.map(({ url }) => url)
  const clients = new Set<OpenClient>()
  const open = async (): Promise<Store> => {
    const opened = urls.map((url, index) => openClient(mixed(index), url))
    for (const one of opened) clients.add(one)
    // Connected, since a node that does not answer within its timeout has no vote.
    await Promise.all(opened.map(({ ready }) => ready))
    const store = redlockStore({
      clients: opened.map(({ client }) => client),
      nodeTimeoutMs: NODE_TIMEOUT_MS,
    })
    return closing(store, () => {
      for (const one of opened) {
        clients.delete(one)
        one.end()
      }
    })
  }
  const probe = await open()
  const subject: Subject = {
    name: `redlock over ${NODES} redis servers`,
    traits: probe.traits,
    open,
    // Each node forgets as the Redis store does.
    skip: [REMEMBERS_FEW],
    // The request timeout of a node is shorter than this, and five servers share the machine.
    shortTtlMs: 1.5 * SHORT_TTL_MS,
    slackMs: SLACK_MS,
    async restart() {
      for (const server of servers) await server.kill()
      for (const server of servers) await server.start()
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/redlock.mjs'), ...urls],
    },
    killRounds: serverKillRounds(),
    races: raceCount(),
    atomicVerbs: false,
  }
  return {
    subject,
    async end() {
      await probe.close()
      for (const { end } of clients) end()
      for (const server of servers) await server.stop()
    },
  }
}
