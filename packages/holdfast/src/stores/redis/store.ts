/** The Redis store: the grant rule in Lua, one script call for each turn of the event loop, grants pushed to waiters. */
import { soonOf, type Clock, type Random } from '../../clock/clock.js'
import type {
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  InspectPage,
  InspectQuery,
  Renewal,
  RenewResult,
  StealOptions,
  StealResult,
  Store,
  Traits,
  WakeListener,
  Watch,
  WithdrawOutcome,
} from '../../store/contract.js'
import { readAttempt, readRenewal, readWithdrawal } from './answers.js'
import { Batches, type Item, type Verb } from './batches.js'
import { explain, STORE_NAME } from './errors.js'
import { describeLocks, listLocks } from './inspect.js'
import { keyOf } from './keys.js'
import { Link } from './link.js'
import { admin, work, type Script } from './scripts.generated.js'
import { textOf } from './replies.js'
import { Shapes } from './shapes.js'
import type { Transport } from './transports/transport.js'
import { Wakes } from './wakes.js'

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
  pollMs: [50, 250],
  ttlMs: [1, 366 * 24 * 3_600_000],
}

export interface RedisSettings {
  /** Stands before every key and channel. */
  readonly prefix: string
  /** How long an answer may take, in milliseconds. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly random: Random
}

/** So many claims whose attempts failed are remembered until they are withdrawn. */
const UNCLEAR_KEPT = 10_000

export class RedisStore implements Store<true> {
  readonly name = STORE_NAME
  readonly traits = TRAITS
  readonly #prefix: string
  readonly #transport: Transport
  readonly #link: Link
  readonly #wakes: Wakes
  readonly #batches: Batches
  /** Claims with an attempt that may arrive late, since nobody knows what became of it. */
  readonly #unclear = new Set<string>()
  readonly #shapes = new Shapes()

  constructor(transport: Transport, { prefix, timeoutMs, clock, random }: RedisSettings) {
    this.#prefix = prefix
    this.#transport = transport
    this.#link = new Link(transport, timeoutMs, clock)
    this.#wakes = new Wakes(transport, `${transport.keyPrefix}${prefix}:${random.id()}`, clock)
    this.#batches = new Batches(this.#wakes.channel, soonOf(clock), (keys, payload) =>
      this.#run(work, keys, [payload]),
    )
  }

  attempt(claim: Claim, { enqueue, tokens }: AttemptOptions): Promise<AttemptResult> {
    const shape = this.#shapes.attempt(claim, enqueue, tokens)
    this.#wakes.asked(claim.id)
    return new Promise((resolve, reject) => {
      this.#add('a', claim, shape, {
        done: (line) => {
          const result = readAttempt(line, claim, tokens)
          this.#wakes.answered(claim.id)
          resolve(result)
        },
        failed: (error) => {
          this.#wakes.answered(claim.id)
          const { code } = explain(error)
          if (code === 'STORE_UNAVAILABLE' && this.#unclear.size < UNCLEAR_KEPT) this.#unclear.add(claim.id)
          reject(error)
        },
      })
    })
  }

  renew(renewals: readonly Renewal[]): Promise<readonly RenewResult[]> {
    return Promise.all(
      renewals.map(
        (renewal) =>
          new Promise<RenewResult>((resolve) => {
            this.#add('r', renewal, this.#shapes.renewal(renewal), {
              done: (line) => resolve(readRenewal(line)),
              failed: (error) => resolve({ outcome: 'unknown', cause: explain(error, renewal.lock) }),
            })
          }),
      ),
    )
  }

  withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    // What was answered cannot arrive any more; for anything else the withdrawal has to be remembered for long.
    const firm = this.#wakes.isAsking(claim.id) || this.#isUnclear(claim.id)
    return new Promise((resolve, reject) => {
      this.#add('w', claim, this.#shapes.withdrawal(claim.ttlMs, firm), {
        done: (line) => {
          if (firm) this.#unclear.delete(claim.id)
          resolve(readWithdrawal(line))
        },
        failed: reject,
      })
    })
  }

  /**
   * Takes a vote back: the claim does not hold the lock any more, and may be attempted again. Only for a claim none of
   * whose attempts is under way or unclear, since nothing refuses one that comes late.
   */
  async retract(claim: ClaimRef): Promise<void> {
    await new Promise((resolve, reject) => {
      this.#add('t', claim, '[]', { done: resolve, failed: reject })
    })
  }

  async downgrade(claim: ClaimRef): Promise<boolean> {
    const reply = await this.#admin(claim.lock, 'downgrade', claim.id)
    return textOf(reply) === '1'
  }

  watch(claim: Claim, wake: WakeListener): Watch {
    return this.#wakes.watch(claim, wake)
  }

  async steal(lock: string, { now, because }: StealOptions): Promise<StealResult> {
    const reason = because === undefined ? '' : JSON.stringify(because)
    const [holders, freeInMs] = (await this.#admin(lock, 'steal', now ? '1' : '0', reason)) as unknown[]
    return { holders: Number(textOf(holders)), freeInMs: Number(textOf(freeInMs)) }
  }

  async inspect(query: InspectQuery): Promise<InspectPage> {
    const describe = (locks: readonly string[]): ReturnType<typeof describeLocks> =>
      describeLocks(locks, (names) =>
        this.#run(
          admin,
          names.map((name) => keyOf(this.#prefix, name)),
          ['describe'],
        ),
      )
    if ('lock' in query) return { locks: await describe([query.lock]), cursor: undefined }
    return listLocks(query, this.#prefix, {
      describe,
      keyPrefix: this.#transport.keyPrefix,
      scan: (...args) => this.#link.call(() => this.#transport.command('SCAN', ...args)),
    })
  }

  close(): void {
    this.#wakes.close()
    this.#link.close()
  }

  /** When too many are unclear to remember which, all are. */
  #isUnclear(claimId: string): boolean {
    return this.#unclear.size >= UNCLEAR_KEPT || this.#unclear.has(claimId)
  }

  #add(verb: Verb, { id, lock }: ClaimRef, shape: string, answer: Pick<Item, 'done' | 'failed'>): void {
    this.#batches.add({ verb, key: keyOf(this.#prefix, lock), lock, claimId: id, shape, ...answer })
  }

  async #admin(lock: string, ...args: string[]): Promise<unknown> {
    try {
      return await this.#run(admin, [keyOf(this.#prefix, lock)], args)
    } catch (error) {
      throw explain(error, lock)
    }
  }

  #run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#link.call((bySource) =>
      this.#transport.run(bySource ? 'source' : 'hash', script, keys, args),
    )
  }
}
