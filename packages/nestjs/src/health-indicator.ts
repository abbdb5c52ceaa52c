/** The state of a store of locks, for `@nestjs/terminus`. */
import { Inject, Injectable } from '@nestjs/common'
import { ModuleRef } from '@nestjs/core'
import { isLockError, LockUsageError, type Locks } from 'holdfast'
import { checkDuration, checkKeys, type KnownKeys } from 'holdfast/internal'
import { DEFAULT_CLIENT, getLocksToken } from './tokens.js'

/** The options of `pingCheck`. */
export interface PingCheckOptions {
  /** How long the store may take to answer, in milliseconds. Default 1 000. */
  readonly timeout?: number | undefined
  /** The `name` of the `HoldfastModule` whose store is asked. Default: the one without a name. */
  readonly client?: string | undefined
}

const KEYS: KnownKeys<PingCheckOptions> = { timeout: 1, client: 1 }

/** What Terminus shows under the key of a check: a `HealthIndicatorResult` of its versions. */
export type HoldfastHealthResult<Key extends string> = Record<
  Key,
  | { readonly status: 'up'; readonly latencyMs: number }
  | { readonly status: 'down'; readonly message: string; readonly code?: string }
>

/**
 * Checks that the store of locks answers.
 *
 * It makes the result itself and imports nothing of Terminus, which applications without health
 * checks do not have.
 */
@Injectable()
export class HoldfastHealthIndicator {
  readonly #moduleRef: ModuleRef

  constructor(@Inject(ModuleRef) moduleRef: ModuleRef) {
    this.#moduleRef = moduleRef
  }

  /**
   * Reports `up` with the time of a round trip to the store, or `down` with the reason.
   * @param key under which Terminus shows the result
   */
  async pingCheck<Key extends string>(
    key: Key,
    options: PingCheckOptions = {},
  ): Promise<HoldfastHealthResult<Key>> {
    checkKeys('pingCheck', options, KEYS)
    const { timeout = 1_000, client } = options
    checkDuration('timeout', timeout, { min: 1 })
    const locks = this.#locksOf(client)
    const signal = AbortSignal.timeout(timeout)
    try {
      const { latencyMs } = await locks.ping({ signal })
      return { [key]: { status: 'up', latencyMs } } as HoldfastHealthResult<Key>
    } catch (error) {
      const down = signal.aborted
        ? { message: `The ${locks.store.name} store did not answer within ${timeout} ms.` }
        : reasonOf(error)
      return { [key]: { status: 'down', ...down } } as HoldfastHealthResult<Key>
    }
  }

  /** The module that provides this indicator comes first. */
  #locksOf(client: string | undefined): Locks {
    const token = getLocksToken(client)
    for (const strict of [true, false]) {
      try {
        return this.#moduleRef.get<Locks>(token, { strict })
      } catch {
        // Nest throws for a provider that it does not know there.
      }
    }
    const name = client === undefined || client === DEFAULT_CLIENT ? '' : `name: "${client}", `
    throw new LockUsageError(
      `HoldfastHealthIndicator found no locks: import HoldfastModule.forRoot({ ${name}store }).`,
    )
  }
}

function reasonOf(error: unknown): { readonly message: string; readonly code?: string } {
  const message = error instanceof Error ? error.message : String(error)
  return isLockError(error) ? { message, code: error.code } : { message }
}
