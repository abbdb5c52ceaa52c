/** The calls of `scripts/admin.lua`, one at a time: what operators ask, and what is rare. */
import type {
  ListQuery,
  LockInfo,
  NamesPage,
  StealOptions,
  StealResult,
} from '../../../store/contract.js'
import type { LockError } from '../../../errors.js'
import { textOf } from '../wire/answers.js'
import type { Deployment } from '../connection/deployment.js'
import { describeLocks, listNames } from './inspect.js'
import { keyOf } from '../keys.js'
import { admin } from '../rule/scripts.generated.js'

export class AdminCalls {
  readonly #deployment: Deployment
  readonly #prefix: string

  readonly #explain: (caught: unknown, lock?: string) => LockError

  constructor(
    deployment: Deployment,
    prefix: string,
    explain: (caught: unknown, lock?: string) => LockError,
  ) {
    this.#deployment = deployment
    this.#prefix = prefix
    this.#explain = explain
  }

  /** @throws LockError about this lock. */
  async call(lock: string, ...args: string[]): Promise<unknown> {
    try {
      return await this.#run([keyOf(this.#prefix, lock)], ...args)
    } catch (error) {
      throw this.#explain(error, lock)
    }
  }

  /**
   * Asks for the last token first: a steal that is sent again after a connection broke must not end
   * a later grant. Where a connection broke, it counts the leases that it found: the first sending
   * may have ended them.
   */
  async steal(lock: string, { claim, now, reason }: StealOptions): Promise<StealResult> {
    const found = seenBy(claim, await this.#find(lock, claim))
    const nothing = { holders: 0, ...(claim === undefined ? {} : { waiters: 0 }), freeInMs: 0 }
    if (found?.lastToken === undefined) return nothing
    const { breaks } = this.#deployment
    const text = reason === undefined ? '' : JSON.stringify(reason)
    const words = ['steal', now ? '1' : '0', text, String(found.lastToken), claim ?? '']
    const [stolen, freeInMs, left] = (await this.call(lock, ...words)) as unknown[]
    const isUnsure = this.#deployment.breaks !== breaks
    const most = (count: unknown, seen: readonly unknown[]): number =>
      Math.max(Number(textOf(count)), isUnsure ? seen.length : 0)
    return {
      holders: most(stolen, found.holders),
      ...(claim === undefined ? {} : { waiters: most(left, found.waiters) }),
      freeInMs: Number(textOf(freeInMs)),
    }
  }

  async list(query: ListQuery): Promise<NamesPage> {
    try {
      return await listNames(this.#deployment, this.#prefix, query)
    } catch (error) {
      throw this.#explain(error)
    }
  }

  async inspect(locks: readonly string[], waitersUpTo?: readonly string[]): Promise<LockInfo[]> {
    try {
      return await this.#describe(locks, waitersUpTo)
    } catch (error) {
      throw this.#explain(error, locks.length === 1 ? locks[0] : undefined)
    }
  }

  /** Resolves to undefined for an idle lock. */
  async #find(lock: string, waiter: string | undefined): Promise<LockInfo | undefined> {
    try {
      const [info] = await this.#describe([lock], waiter === undefined ? [] : [waiter])
      return info
    } catch (error) {
      throw this.#explain(error, lock)
    }
  }

  #describe(locks: readonly string[], waitersUpTo?: readonly string[]): Promise<LockInfo[]> {
    const upTo = waitersUpTo ? ['up-to', ...waitersUpTo] : []
    return describeLocks(this.#deployment, this.#prefix, locks, (keys) =>
      this.#run(keys, 'describe', String(keys.length), ...upTo),
    )
  }

  #run(keys: readonly string[], ...args: string[]): Promise<unknown> {
    return this.#deployment.run(admin, keys, [this.#deployment.publish, ...args])
  }
}

/** Returns what a steal would end: the holders, or one claim. Undefined where that is gone. */
function seenBy(claim: string | undefined, info: LockInfo | undefined): LockInfo | undefined {
  if (claim === undefined || !info) return info
  const isIt = ({ claimId }: { readonly claimId: string }): boolean => claimId === claim
  const [holders, waiters] = [info.holders.filter(isIt), info.waiters.filter(isIt)]
  return holders.length + waiters.length === 0 ? undefined : { ...info, holders, waiters }
}
