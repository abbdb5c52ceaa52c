/**
 * The real Redlock store over several modelled Redis servers, each with a clock, connections and
 * faults of its own.
 */
import type { Runtime } from '../runtime.js'
import { noting } from '../redis/access.js'
import { ModelClient } from '../redis/client.js'
import type { RedisServer } from '../redis/server.js'
import type { Access, Customer, Service } from '../server/service.js'
import type { Host } from '../server/host.js'
import type { Link } from '../world/link.js'
import type { TokenMark } from './token-log.js'
import { VoteTruth } from './vote-truth.js'

export class RedlockService implements Service {
  readonly hosts: readonly Host[]
  readonly truth: VoteTruth
  readonly #nodes: readonly RedisServer[]
  readonly #runtime: Runtime

  constructor(nodes: readonly RedisServer[], runtime: Runtime) {
    this.#nodes = nodes
    this.#runtime = runtime
    this.hosts = nodes.map(({ host }) => host)
    this.truth = new VoteTruth(
      nodes.map(({ truth }) => truth),
      nodes.map(({ tokens }) => tokens),
    )
  }

  get tokenLogs(): readonly (readonly TokenMark[])[] {
    return this.#nodes.map(({ tokens }) => tokens.marks)
  }

  open({ process, links, dice, requestTimeoutMs, claimants }: Customer): Access {
    const connections = this.#nodes.map(() => new Set<ModelClient>())
    const clients = this.#nodes.map((server, node) => {
      const link = links[node] as Link
      const its = connections[node] as Set<ModelClient>
      const retries = dice.pick([1, 20])
      return new ModelClient({
        server,
        process,
        link,
        dice,
        connections: its,
        retries,
        resends: true,
      })
    })
    const store = this.#runtime.redlockStore({
      clients,
      requestTimeoutMs,
      nodeTimeoutMs: Math.min(requestTimeoutMs, dice.pick([50, 150, 500])),
      clock: process,
      random: { next: () => dice.unit(), id: () => dice.id() },
    })
    return {
      store: noting(store, claimants),
      reset(node) {
        for (const [index, its] of connections.entries()) {
          if (node === undefined || node === index) for (const one of its) one.reset()
        }
      },
    }
  }
}
