/** A client with a thread that renews beside its event loop: the real parts of both sides. */
import type { Locks, LocksOptions } from 'holdfast'
import type { Store } from 'holdfast/store'
import type { Dice } from '@holdfast/workload'
import type { Runtime } from '../runtime.js'
import type { Access, Customer } from '../server/service.js'
import type { Agenda } from '../world/agenda.js'
import { AHEAD_MS, ModelThread } from './model-thread.js'
import { watchedStore, type HelperRules } from './watch.js'

export interface HelpedOptions {
  readonly runtime: Runtime
  readonly agenda: Agenda
  /** The thread as a customer of the service. */
  readonly customer: Customer
  readonly open: (customer: Customer) => Access
  readonly dice: Dice
  readonly rules: HelperRules
}

export class HelpedClient {
  readonly access: Access
  readonly thread: ModelThread
  readonly rules: HelperRules
  readonly #options: HelpedOptions
  readonly #board

  constructor(options: HelpedOptions) {
    const { runtime, agenda, customer, open, dice, rules } = options
    const { LateRenewals, SharedBoard } = runtime.helper
    this.#options = options
    this.rules = rules
    this.access = open(customer)
    const board = new SharedBoard()
    this.#board = board
    const store = watchedStore(this.access.store, rules)
    const { blockedAtMostMs, main } = rules
    const { process } = customer
    const start: ConstructorParameters<typeof ModelThread>[0]['start'] = (clock, onStolen) =>
      new LateRenewals({
        store,
        board: new SharedBoard(board.buffer),
        blockedAtMostMs,
        clock,
        onStolen,
      })
    this.thread = new ModelThread({ agenda, dice, process, main, start })
  }

  /** Makes the client of the main thread. */
  createLocks(store: Store, options: LocksOptions): Locks {
    const { Client, locksOf, RenewalHelper } = this.#options.runtime.helper
    const client = new Client(store, options)
    const { thread } = this
    const shared = { board: this.#board, thread, aheadMs: AHEAD_MS }
    const helper = new RenewalHelper(client.runtime, client.renewals, shared)
    client.renewals.helper = helper
    thread.onLost = (error) => helper.lost(error)
    return locksOf(client)
  }
}
