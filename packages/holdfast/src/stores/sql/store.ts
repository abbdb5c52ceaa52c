/**
 * The store over a database: what PostgreSQL and MySQL share. The grant rule runs in the database;
 * what is here turns verbs into requests and hands wake-ups to those who wait.
 */
import { DEFAULT_POLL_RANGE_MS, LONGEST_TTL_MS } from '../../store/contract.js'
import type {
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  TransactionGuard,
  InspectPage,
  InspectQuery,
  LockInfo,
  PushedGrant,
  Renewal,
  RenewalListener,
  RenewResult,
  StealOptions,
  StealResult,
  Store,
  Traits,
  WakeListener,
  Watch,
  WithdrawOutcome,
} from '../../store/contract.js'
import { renewEach } from '../../store/renew-each.js'
import { Batches } from './batches.js'
import type { Database } from './database.js'
import * as requests from './requests.js'

const TRAITS: Traits<true> = {
  fencing: true,
  tokenBlocks: true,
  kinds: ['mutex', 'readWriteLock', 'semaphore'],
  fair: true,
  wakeUp: 'push',
  expiry: 'server',
  downgrade: true,
  steal: true,
  inspect: true,
  pollRangeMs: DEFAULT_POLL_RANGE_MS,
  ttlRangeMs: [1, LONGEST_TTL_MS],
}

/**
 * The connection that listens is given back when nobody has waited for so long, in milliseconds.
 */
const QUIET_MS = 10_000

export class SqlStore implements Store<true> {
  readonly name: string
  readonly traits = TRAITS
  readonly transactionGuard: TransactionGuard
  readonly #database: Database
  readonly #batches: Batches
  readonly #watchers = new Map<string, WakeListener>()
  #listening: Promise<void> | undefined
  #listens = false
  #quiet: NodeJS.Timeout | undefined

  constructor(database: Database) {
    this.name = database.name
    this.#database = database
    this.#batches = new Batches(database)
    this.transactionGuard = {
      ...database.transactionGuard,
      prepare: async ({ lock, id }) =>
        requests.isDone(await this.#batches.do({ verb: 'guard', lock, id })),
    }
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    const request = requests.attemptRequest(claim, options, this.#database.channel)
    const isHeartbeat = this.#watchers.has(claim.id)
    const answer = this.#batches.do(request, isHeartbeat ? undefined : claim.lock)
    return answer.then((answered) => requests.attemptResult(answered, claim, this.name))
  }

  renew(renewals: readonly Renewal[], report?: RenewalListener): Promise<readonly RenewResult[]> {
    const renewOne = (renewal: Renewal): Promise<RenewResult> =>
      this.#batches.do(requests.renewRequest(renewal)).then(requests.renewResult)
    return renewEach(renewals, renewOne, report)
  }

  withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    return this.#batches.do(requests.withdrawRequest(claim)).then(requests.withdrawOutcome)
  }

  async downgrade({ lock, id }: ClaimRef): Promise<boolean> {
    return requests.isDone(await this.#batches.do({ verb: 'downgrade', lock, id }))
  }

  async steal(lock: string, options: StealOptions): Promise<StealResult> {
    return requests.stealResult(await this.#batches.do(requests.stealRequest(lock, options)))
  }

  /** The connection that listens is made when somebody waits for the first time. */
  watch(claim: Claim, wake: WakeListener): Watch {
    this.#watchers.set(claim.id, wake)
    clearTimeout(this.#quiet)
    return {
      ready: this.#listens ? undefined : this.#listen(),
      close: () => {
        if (this.#watchers.delete(claim.id) && this.#watchers.size === 0) this.#deafenSoon()
      },
    }
  }

  async inspect(query: InspectQuery): Promise<InspectPage> {
    if ('lock' in query) return { locks: await this.#describe([query.lock]), cursor: undefined }
    const { prefix, cursor = '', limit } = query
    const names = await this.#database.names({ prefix, after: cursor, limit: limit + 1 })
    const page = names.slice(0, limit)
    return {
      locks: await this.#describe(page),
      cursor: names.length > limit ? page.at(-1) : undefined,
    }
  }

  async close(): Promise<void> {
    this.#watchers.clear()
    clearTimeout(this.#quiet)
    this.#batches.close()
    await this.#database.close()
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#database
      .listen({
        onGrant: (claimId: string, grant: PushedGrant) => this.#watchers.get(claimId)?.(grant),
        onHint: () => {
          for (const wake of [...this.#watchers.values()]) wake()
        },
      })
      .then(
        () => void (this.#listens = true),
        (error: unknown) => {
          // The floor does until somebody else waits and tries again.
          this.#listening = undefined
          throw error
        },
      )
    return this.#listening
  }

  /**
   * Also where listening failed: it may have failed half way, and have a connection all the same.
   */
  #deafenSoon(): void {
    clearTimeout(this.#quiet)
    this.#quiet = setTimeout(() => {
      this.#listening = undefined
      this.#listens = false
      this.#database.deafen().catch(() => undefined) // the connection was broken, and is gone all the same
    }, QUIET_MS)
    this.#quiet.unref()
  }

  async #describe(names: readonly string[]): Promise<LockInfo[]> {
    const answers = await Promise.all(
      names.map((lock) => this.#batches.do({ verb: 'inspect', lock })),
    )
    return answers.flatMap((answer, index) => requests.lockInfo(names[index] ?? '', answer) ?? [])
  }
}
