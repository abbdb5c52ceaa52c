/** The queue recipe of etcd and ZooKeeper over a modelled service, in a process of the world. */
import type { CoordinationService } from 'holdfast/internal'
import type { Store } from 'holdfast/store'
import { Dice } from '@holdfast/workload'
import { noting } from '../redis/access.js'
import type { Recipe } from '../runtime.js'
import type { Host } from '../server/host.js'
import type { Access, Customer, QueuedClaim, Service } from '../server/service.js'
import type { Truth } from '../server/truth.js'
import type { Agenda } from '../world/agenda.js'
import type { MachineClock } from '../world/machine-clock.js'
import { Followers } from './ordered/followers.js'
import { OrderedService, TICK_MS } from './ordered/service.js'
import { CoordinationServer } from './server.js'
import type { ExpiryRule } from './sessions.js'
import { TransactionService } from './transactions/service.js'

/** How a service that keeps its sessions and its queues works. */
export type RecipeModel = 'etcd-queue' | 'zookeeper-queue'

/** A service whose connections a fault breaks. */
type ModelledService = CoordinationService & { reset(): void }

/** The shortest and the longest TTL, in milliseconds. */
const TTL_RANGE_MS = [100, 60_000] as const

export class CoordinationModel implements Service {
  readonly hosts: readonly Host[]
  readonly truth: Truth
  readonly #server: CoordinationServer
  readonly #followers: Followers
  readonly #model: RecipeModel
  readonly #recipe: Recipe

  constructor(
    model: RecipeModel,
    agenda: Agenda,
    clock: MachineClock,
    { seed, truth, recipe }: { seed: number; truth: Truth; recipe: Recipe },
  ) {
    this.#model = model
    this.#recipe = recipe
    const dice = Dice.named(seed, 'coordination')
    const expiry = model === 'etcd-queue' ? expiresLate(dice) : expiresInTicks
    this.#server = new CoordinationServer(agenda, clock, truth, expiry)
    this.#followers = new Followers(this.#server, agenda, dice)
    this.hosts = [this.#server.host]
    this.truth = truth
  }

  open(customer: Customer): Access {
    const { process, links, dice, requestTimeoutMs, claimants } = customer
    const [link] = links
    const ground = { server: this.#server, process, link, dice, requestTimeoutMs }
    const service: ModelledService =
      this.#model === 'etcd-queue'
        ? new TransactionService(ground, this.#recipe)
        : new OrderedService({ ...ground, followers: this.#followers }, this.#recipe)
    const store = new this.#recipe.CoordinationStore(service, {
      name: this.#model,
      ttlRangeMs: TTL_RANGE_MS,
      clock: process,
    })
    if (this.#model === 'etcd-queue') this.#noteWithdrawals(store)
    return { store: noting(store, claimants), reset: () => service.reset() }
  }

  /**
   * From its answer on, a withdrawal refuses the claim. Only a service whose requests arrive in
   * order may have an entry for a moment, until the client has another connection.
   */
  #noteWithdrawals(store: Store): void {
    const withdraw = store.withdraw.bind(store)
    store.withdraw = async (claim) => {
      const outcome = await withdraw(claim)
      this.truth.withdrawn(claim)
      return outcome
    }
  }

  entriesOf(clientIds: ReadonlySet<string>): QueuedClaim[] {
    return this.#server.ownedEntries
      .filter(({ data }) => clientIds.has(data.owner.clientId))
      .map(({ lock, id }) => ({ lock, claimId: id }))
  }
}

/** A leader ends sessions some time after they are due, and until then renews none of them. */
function expiresLate(dice: Dice): ExpiryRule {
  return { lateMs: () => dice.exponential(100, 700), revives: false }
}

/** A leader ends sessions at the next tick, and hears them until then. */
const expiresInTicks: ExpiryRule = {
  lateMs: (dueMs) => TICK_MS - (dueMs % TICK_MS),
  revives: true,
}
