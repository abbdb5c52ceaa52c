/** One transaction over the locks of a file: read at their first use, written at the end. */
import { withdrawalsFirst } from '../../../collections/withdrawals-first.js'
import { StoreUnavailableError } from '../../../errors.js'
import { isIdle, type Holder, type LockState, type RuleStep } from '../../../store/lock-state.js'
import { CLOCK_SLACK_MS, newStoredLock, pack, unpack, type StoredLock } from './codec.js'
import type { Database, Statement } from './engine.js'
import { readTokenFloor } from './forgetting.js'
import type { Machine } from '../folder/machine.js'
import type { SocketAddress } from '../folder/socket-address.js'

/**
 * Withdrawn claims that a lock remembers. Operations of one process keep their order, so a few
 * suffice.
 */
const TOMBSTONES = 4

/** The number of locks that stay unpacked between transactions. */
const CACHED_LOCKS = 256

/** A waiter that a transaction made a holder, and where it lives. */
export interface Promotion {
  readonly holder: Holder
  readonly peerId: string
}

export interface Statements {
  readonly begin: Statement
  readonly commit: Statement
  readonly rollback: Statement
  readonly load: Statement
  readonly save: Statement
  readonly saveInRow: Statement
  readonly findPeer: Statement
}

export function prepare(db: Database): Statements {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    load: db.prepare('SELECT rowid AS row, state, busy FROM locks WHERE name = ?'),
    save: db.prepare(
      'INSERT INTO locks (name, state, busy, touched_ms) VALUES (?, ?, ?, ?) ON CONFLICT (name) ' +
        'DO UPDATE SET state = excluded.state, busy = excluded.busy, touched_ms = excluded.touched_ms',
    ),
    // Names neither `busy` nor `name`, so that no index is written.
    saveInRow: db.prepare(
      'UPDATE locks SET state = ?, touched_ms = ? WHERE rowid = ? AND name = ?',
    ),
    findPeer: db.prepare(
      'SELECT id, socket, inode, pid_namespace AS pidNamespace FROM peers WHERE id = ?',
    ),
  }
}

/** A row of `locks`, as `load` finds it. */
interface LockRow {
  readonly row: number
  readonly state: string
  readonly busy: number
}

/** A lock of this transaction, and the row that it was read from. */
interface TouchedLock {
  readonly lock: StoredLock
  readonly found: LockRow | undefined
}

/** Unpacked locks. One is good for as long as its row says what it said when it was packed. */
export class LockCache {
  readonly #entries = new Map<string, { readonly text: string; readonly lock: StoredLock }>()

  /** Gives the lock away: a transaction that fails must not leave its changes here. */
  take(name: string, text: string): StoredLock | undefined {
    const entry = this.#entries.get(name)
    this.#entries.delete(name)
    return entry?.text === text ? entry.lock : undefined
  }

  keep(name: string, text: string, lock: StoredLock): void {
    if (this.#entries.size >= CACHED_LOCKS) this.#entries.clear()
    this.#entries.set(name, { text, lock })
  }

  clear(): void {
    this.#entries.clear()
  }
}

/** One transaction, as its operations see it. */
export class Transaction {
  readonly db: Database
  readonly promotions: Promotion[] = []
  readonly #statements: Statements
  readonly #machine: Machine
  readonly #locks = new Map<string, TouchedLock>()
  readonly #cache: LockCache
  readonly #step: RuleStep
  #rowsChanged = false

  constructor(db: Database, statements: Statements, cache: LockCache, machine: Machine) {
    this.db = db
    this.#cache = cache
    this.#statements = statements
    this.#machine = machine
    // Microseconds are enough, and short in the row.
    const nowMs = Math.round(machine.monotonicMs() * 1000) / 1000
    this.#step = { nowMs, tokenFloor: 0, tombstoneLimit: TOMBSTONES, promoted: [] }
    this.#step.tokenFloor = Math.floor(machine.wallMs() * 1000)
  }

  /** Runs a step of the grant rule on a lock, and notes whom it promoted. */
  onLock<R>(name: string, verb: (state: LockState, step: RuleStep, lock: StoredLock) => R): R {
    const lock = this.#load(name)
    const step = this.#step
    try {
      return verb(lock.state, step, lock)
    } finally {
      for (const holder of step.promoted.splice(0)) {
        this.promotions.push({ holder, peerId: lock.peerIds.get(holder.id) ?? '' })
      }
    }
  }

  /** Changes rows of `locks` otherwise: none stays where a lock was found. */
  changeRows<R>(work: (db: Database) => R): R {
    this.#rowsChanged = true
    return work(this.db)
  }

  /** Returns what the row of a peer says: see `storedSocket`. */
  findPeer(id: string): SocketAddress | undefined {
    return this.#statements.findPeer.get(id) as SocketAddress | undefined
  }

  /** Writes back what was touched. */
  write(): void {
    const touchedMs = Math.floor(this.#machine.wallMs())
    for (const [name, { lock, found }] of this.#locks) {
      forgetPeers(lock)
      const text = pack(lock)
      const busy = isIdle(lock.state) ? 0 : 1
      // A released lock stays marked as busy for an hour or two. Half of the pages that a pair
      // would write are those of the index.
      if (found && found.busy >= busy && !this.#rowsChanged)
        this.#statements.saveInRow.run(text, touchedMs, found.row, name)
      else this.#statements.save.run(name, text, busy, touchedMs)
      this.#cache.keep(name, text, lock)
    }
  }

  #unpack(name: string, text: string): StoredLock {
    try {
      return unpack(name, text)
    } catch (error) {
      throw new StoreUnavailableError(
        'The state of this lock cannot be read: the database is damaged. Move the file away; a new one is made at once.',
        { code: 'STORE_CONFIG', store: 'embedded', lock: name, cause: error },
      )
    }
  }

  #load(name: string): StoredLock {
    const touched = this.#locks.get(name)
    if (touched) return touched.lock
    const found = this.#statements.load.get(name) as LockRow | undefined
    const lock = found
      ? (this.#cache.take(name, found.state) ?? this.#unpack(name, found.state))
      : newStoredLock(name)
    forgetFuture(lock.state, this.#step.nowMs)
    // A row that was forgotten may have had larger tokens than the wall clock now says.
    if (!found) lock.state.lastToken = readTokenFloor(this.db)
    this.#locks.set(name, { lock, found })
    return lock
  }
}

/**
 * Drops what was written later than now, by the clock of an earlier boot. Where boots have a name
 * the rows were deleted; elsewhere such a lease would last until this boot is as old as that one
 * was.
 */
function forgetFuture(state: LockState, nowMs: number): void {
  const latestMs = nowMs + CLOCK_SLACK_MS
  for (const holder of state.holders.values()) {
    if (holder.expiresMs - holder.ttlMs <= latestMs) continue
    state.holders.delete(holder.id)
    state.heldWeight -= holder.weight
  }
  for (const waiter of state.waiters.values())
    if (waiter.seenMs > latestMs) state.waiters.delete(waiter.id)
}

/** Claims come and go; the peers of those that are gone are of no use. */
function forgetPeers({ state, peerIds }: StoredLock): void {
  if (peerIds.size <= state.holders.size + state.waiters.size) return
  for (const id of peerIds.keys()) {
    if (!state.holders.has(id) && !state.waiters.has(id)) peerIds.delete(id)
  }
}

/** An operation in the queue of its process. */
export interface QueuedOperation {
  readonly claimId: string | undefined
  readonly first: boolean
  readonly sinceMs: number
  run(transaction: Transaction): void
  settle(error?: unknown): void
}

export interface Operation<R> {
  /** The claim that it is about: operations on one claim keep their order. */
  readonly claimId?: string
  /** Goes before others of the same tick. */
  readonly first?: boolean
  work(transaction: Transaction): R
}

/** Withdrawals first, but never before an earlier operation on the same claim. */
export function inOrder(items: readonly QueuedOperation[]): readonly QueuedOperation[] {
  const seen = new Set<string>()
  return withdrawalsFirst(items, ({ first, claimId }) => {
    if (first && (claimId === undefined || !seen.has(claimId))) return true
    if (claimId !== undefined) seen.add(claimId)
    return false
  })
}
