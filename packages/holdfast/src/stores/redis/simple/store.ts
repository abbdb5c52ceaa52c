/**
 * The simple mode of the Redis store, for servers where EVAL is banned: one key a lock, changed in transactions that
 * watch it (WATCH, MULTI, EXEC).
 *
 *   <key>       string  `simple:<claim id>` of the holder; its TTL is the lease
 *   <key>:x:ID  string  what the withdrawal of claim ID answered; until it is gone the claim is refused
 *
 * The key of a lock is the same as with scripts, and neither mode can read the other's: programs that disagree on the
 * mode get an error in place of a lock each.
 */
import { UnsupportedLockError } from '../../../errors.js'
import type {
  AttemptResult,
  Claim,
  ClaimRef,
  Renewal,
  RenewResult,
  Store,
  Traits,
  Watch,
  WithdrawOutcome,
} from '../../../store/contract.js'
import { explain, STORE_NAME } from '../errors.js'
import { keyOf } from '../keys.js'
import { textOf } from '../replies.js'
import type { RedisSettings } from '../store.js'
import type { Transport } from '../transports/transport.js'
import { Session, Sessions, type Transactions } from './session.js'

const TRAITS: Traits<false> = {
  fencing: false,
  tokenBlocks: false,
  kinds: ['mutex'],
  fair: false,
  wakeUp: 'poll',
  expiry: 'server',
  downgrade: false,
  steal: false,
  inspect: false,
  pollMs: [50, 250],
  ttlMs: [1, 366 * 24 * 3_600_000],
}

/** For attempts and withdrawals. */
const CONNECTIONS = 4
const MARK = 'simple:'
/** So many locks are renewed in one transaction. */
const RENEWED_TOGETHER = 64

export class SimpleRedisStore implements Store<false> {
  readonly name = STORE_NAME
  readonly traits = TRAITS
  readonly #prefix: string
  readonly #sessions: Sessions
  /** Of their own, since they must not wait behind attempts. */
  readonly #renewals: Session

  constructor(transport: Transport, settings: RedisSettings) {
    this.#prefix = transport.keyPrefix + settings.prefix
    this.#sessions = new Sessions(transport, settings, CONNECTIONS)
    this.#renewals = new Session(transport, settings)
  }

  async attempt(claim: Claim): Promise<AttemptResult> {
    if (claim.kind !== 'mutex') throw unsupported(claim.kind, claim.lock)
    return this.#onLock(claim, (session) => this.#attempt(session, claim))
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewResult[]> {
    const results: RenewResult[] = []
    for (let start = 0; start < renewals.length; start += RENEWED_TOGETHER) {
      results.push(...(await this.#renewTogether(renewals.slice(start, start + RENEWED_TOGETHER))))
    }
    return results
  }

  async withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    return this.#onLock(claim, (session) => this.#withdraw(session, claim))
  }

  /** There are no wake-ups: whoever waits comes back now and then. */
  watch(): Watch {
    return { ready: undefined, close: () => undefined }
  }

  downgrade({ lock }: ClaimRef): never {
    throw unsupported('downgrade', lock)
  }

  steal(lock: string): never {
    throw unsupported('steal', lock)
  }

  inspect(): never {
    throw unsupported('inspect')
  }

  close(): void {
    this.#sessions.close()
    this.#renewals.close()
  }

  async #attempt(session: Transactions, claim: Claim): Promise<AttemptResult | undefined> {
    const [key, tomb] = this.#keys(claim)
    // What is left is asked before who holds: if it is this claim, it holds for at least so long.
    const [left, value, buried] = await session.watch(
      [key, tomb],
      [
        ['PTTL', key],
        ['GET', key],
        ['GET', tomb],
      ],
    )
    const holder = holderOf(key, value)
    if (isThere(buried) || holder !== undefined) {
      session.unwatch()
      if (isThere(buried)) return { outcome: 'withdrawn' }
      const leftMs = Math.max(0, Number(textOf(left)))
      if (holder === claim.id) return grantOf(claim, true, Math.min(leftMs, claim.ttlMs))
      return { outcome: 'busy', holderRemainingMs: leftMs }
    }
    const done = await session.transaction([
      ['SET', key, MARK + claim.id, 'NX', 'PX', String(Math.ceil(claim.ttlMs))],
    ])
    return done && isThere(done[0]) ? grantOf(claim, false, claim.ttlMs) : undefined
  }

  async #withdraw(session: Transactions, claim: ClaimRef): Promise<WithdrawOutcome | undefined> {
    const [key, tomb] = this.#keys(claim)
    const { compareDelete } = session
    // The tombstone is this claim's own. The key is not, and need not be watched where the server compares by itself.
    const [value, buried] = await session.watch(compareDelete ? [tomb] : [key, tomb], [
      ['GET', key],
      ['GET', tomb],
    ])
    if (isThere(buried)) {
      session.unwatch()
      return textOf(buried) === 'released' ? 'released' : 'absent'
    }
    const outcome = holderOf(key, value) === claim.id ? 'released' : 'absent'
    const ttl = String(Math.ceil(claim.ttlMs))
    const bury = ['SET', tomb, outcome, 'PX', ttl] as const
    const drop = compareDelete ? compareDelete(key, MARK + claim.id) : (['DEL', key] as const)
    const done = await session.transaction(outcome === 'released' ? [drop, bury] : [bury])
    if (!done || outcome === 'absent' || textOf(done[0]) === '1') return done && outcome
    // The lease ended in between. (Servers before 6.0.9 carry a transaction out although a watched key has expired.)
    await session.transaction([['SET', tomb, 'absent', 'PX', ttl]])
    return 'absent'
  }

  /** One transaction for many; one lock after the other when somebody else changed one of them meanwhile. */
  async #renewTogether(renewals: readonly Renewal[]): Promise<readonly RenewResult[]> {
    try {
      const results = await this.#renewals.run((session) => this.#extend(session, renewals))
      if (results) return results
    } catch (error) {
      if (renewals.length === 1) return [{ outcome: 'unknown', cause: explain(error, renewals[0]?.lock) }]
    }
    const single: RenewResult[] = []
    for (const renewal of renewals) single.push(...(await this.#renewTogether([renewal])))
    return single
  }

  async #extend(session: Transactions, renewals: readonly Renewal[]): Promise<RenewResult[] | undefined> {
    const keys = renewals.map(({ lock }) => keyOf(this.#prefix, lock))
    const values = await session.watch(
      keys,
      keys.map((key) => ['GET', key] as const),
    )
    const held = renewals.map(({ id }, index) => holderOf(keys[index] as string, values[index]) === id)
    const done = await session.transaction(
      renewals.flatMap(({ ttlMs }, index) =>
        held[index] ? [['PEXPIRE', keys[index] as string, String(Math.ceil(ttlMs))] as const] : [],
      ),
    )
    if (!done) return undefined
    const replies = done.values()
    return held.map((is) =>
      is && textOf(replies.next().value) === '1'
        ? { outcome: 'renewed' }
        : { outcome: 'lost', reason: 'expired' },
    )
  }

  /** Repeats what somebody else came in between of. */
  async #onLock<T>({ lock }: ClaimRef, work: (session: Transactions) => Promise<T | undefined>): Promise<T> {
    try {
      for (;;) {
        const result = await this.#sessions.run(work)
        if (result !== undefined) return result
      }
    } catch (error) {
      throw explain(error, lock)
    }
  }

  #keys({ lock, id }: ClaimRef): [key: string, tomb: string] {
    const key = keyOf(this.#prefix, lock)
    return [key, `${key}:x:${id}`]
  }
}

function grantOf(claim: Claim, existing: boolean, remainingMs: number): AttemptResult {
  return { outcome: 'granted', token: undefined, tokens: 1, ttlMs: claim.ttlMs, existing, remainingMs }
}

function isThere(reply: unknown): boolean {
  return reply !== null && reply !== undefined
}

/** The claim that holds the lock. Throws when the key is not of this mode. */
function holderOf(key: string, reply: unknown): string | undefined {
  if (!isThere(reply)) return undefined
  const value = textOf(reply)
  if (value.startsWith(MARK)) return value.slice(MARK.length)
  throw new Error(`FOREIGN the key ${key} holds something that is not a lock of the simple mode`)
}

function unsupported(what: string, lock?: string): UnsupportedLockError {
  return new UnsupportedLockError(
    `The Redis store in simple mode has no ${what}${lock === undefined ? '' : ` ("${lock}")`}: it offers mutexes only. ` +
      'Allow the scripts of the store (EVAL, EVALSHA) to have everything.',
    { lock, store: STORE_NAME },
  )
}
