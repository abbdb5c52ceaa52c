/** `lockPath`: a lock for a file or folder, among all processes that share it. */
import { isAbsolute, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pendingCall } from '../async/keep-alive.js'
import { LockUsageError } from '../errors.js'
import type { Lease, WriteLease } from '../lease/hold/lease.js'
import { LOCK_STORE, type InternalLock } from '../lease/internal-lock.js'
import type { Lockable } from '../locks/lock.js'
import { freeLock, type LockState } from '../locks/look-up.js'
import { readWriteLock, type ReadWriteLock } from '../locks/read-write-lock.js'
import { describe } from '../options/describe.js'
import { checkKeys, checkNoOptions } from '../options/known-keys.js'
import {
  ACQUIRE_KEYS,
  clientSettings,
  LOCK_KEYS,
  RUN_KEYS,
  type AcquireOptions,
  type LockOptions,
  type RunOptions,
} from '../options/lock-options.js'
import { CAPACITY_ALL, type Store } from '../store/contract.js'
import { shownAs } from '../store/with-json.js'
import { TRAITS } from '../stores/embedded/store.js'
import { PathStores } from './path-stores.js'

/**
 * A lock for a file or folder. Its own methods take it alone; `read` shares it. Each call follows
 * links again. It rejects with `STORE_CONFIG` where the folder around the path is missing, on a
 * network file system, or not writable for this user.
 */
export interface PathLock extends Lockable<WriteLease> {
  /** The absolute path. Its leases and `inspect` show the name of the lock in the state folder. */
  readonly name: string
  /** Shared with other readers. A waiting writer stops later readers. */
  readonly read: Lockable
}

const stores = new PathStores()
/** Stands for the stores of all paths. `locks.transaction` of no other store may take them. */
const PATHS = { name: 'embedded', traits: TRAITS } as Store

/**
 * Returns a lock for a file or folder among all processes that share it. Their users, homes,
 * working folders and mounts may differ. The file need not exist, and another one may replace it.
 * The state is kept beside it, in a folder `.holdfast`, which the first call makes.
 * ```js
 * import { lockPath } from 'holdfast/embedded'
 *
 * await lockPath('report.json').run(work)
 * ```
 * @param path a string or a `file:` URL. A relative one counts from the present working folder.
 * @throws LockUsageError when the path or an option makes no sense.
 */
export function lockPath(path: string | URL, options: LockOptions = {}): PathLock {
  const name = absolute(path)
  checkKeys('lockPath', options, LOCK_KEYS, { lock: name })
  clientSettings(options, PATHS)
  const write = new PathSide(name, options, (lock) => lock.write)
  const read = new PathSide(name, options, (lock) => lock.read)
  return shownAs(Object.assign(write, { read }), () => ({ name }))
}

/** The readers or the writer of a path. */
class PathSide<L extends Lease> implements Lockable<L>, InternalLock {
  readonly [LOCK_STORE] = PATHS
  readonly name: string
  readonly #options: LockOptions
  readonly #sideOf: (lock: ReadWriteLock) => Lockable<L>

  constructor(name: string, options: LockOptions, sideOf: (lock: ReadWriteLock) => Lockable<L>) {
    this.name = name
    this.#options = options
    this.#sideOf = sideOf
  }

  async run<T>(work: (lease: L) => T | PromiseLike<T>, options?: RunOptions): Promise<T> {
    if (options !== undefined) checkKeys('run', options, RUN_KEYS, { lock: this.name })
    return this.#use((lock) => lock.run(work, options))
  }

  async acquire(options?: AcquireOptions): Promise<L> {
    if (options !== undefined) checkKeys('acquire', options, ACQUIRE_KEYS, { lock: this.name })
    return this.#use((lock) => lock.acquire(options))
  }

  async tryAcquire(options?: AcquireOptions): Promise<L | undefined> {
    if (options !== undefined) checkKeys('tryAcquire', options, ACQUIRE_KEYS, { lock: this.name })
    return this.#use((lock) => lock.tryAcquire(options))
  }

  async adopt(handle: string, extra?: unknown): Promise<L> {
    checkNoOptions('adopt', extra, { lock: this.name })
    return this.#use((lock) => lock.adopt(handle))
  }

  async inspect(extra?: unknown): Promise<LockState> {
    checkNoOptions('inspect', extra, { lock: this.name })
    // A look makes no folder.
    if (!stores.hasState(this.name))
      return freeLock({ lock: this.name, kind: 'readWriteLock', capacity: CAPACITY_ALL })
    return this.#use((lock) => lock.inspect())
  }

  #use<T>(work: (lock: Lockable<L>) => Promise<T>): Promise<T> {
    return pendingCall(
      stores.use(this.name, (client, name) =>
        work(this.#sideOf(readWriteLock(client, name, this.#options))),
      ),
    )
  }
}

/** Returns the path from the root on. `..` stays: behind a link it leads elsewhere. */
function absolute(path: string | URL): string {
  const text = textOf(path)
  if (text === '' || text.includes('\0'))
    throw new LockUsageError(`lockPath needs the path of a file or folder, not ${describe(text)}.`)
  return isAbsolute(text) ? text : `${workingFolder(text)}${sep}${text}`
}

function textOf(path: unknown): string {
  if (typeof path === 'string') return path
  try {
    if (path instanceof URL) return fileURLToPath(path)
  } catch (error) {
    throw new LockUsageError(`lockPath takes a file: URL. ${(error as Error).message}`)
  }
  throw new LockUsageError(`lockPath takes a string or a file: URL, not ${describe(path)}.`)
}

function workingFolder(path: string): string {
  try {
    return process.cwd()
  } catch {
    throw new LockUsageError(
      `lockPath: the relative path ${describe(path)} leads nowhere, since the working folder was deleted.`,
    )
  }
}
