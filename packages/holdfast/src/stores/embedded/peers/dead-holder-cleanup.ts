/**
 * What becomes of the claims of a peer that died: they end, unless a command that was started
 * under them may still work.
 */
import { existsSync } from 'node:fs'
import { systemRandom } from '../../../clock/clock.js'
import type { Owner } from '../../../store/contract.js'
import * as rule from '../../../store/grant-rule.js'
import type { SocketAddress } from '../folder/socket-address.js'
import type { LockFile } from '../database/lock-file.js'
import type { LockFiles } from '../database/lock-files.js'
import type { Machine } from '../folder/machine.js'
import { isGroupGone } from './process-groups.js'
import type { Peers } from './peers.js'

/** How often to look whether a dead holder's command is gone, in milliseconds. */
const RECHECK_GROUP_MS = [15, 30] as const

/** How many peers are asked at a time; each takes a descriptor. */
const PROBES = 64

/** The number of locks of a dead peer that are found before their claims end. */
const SWEEP = 100
/** The number of busy locks that are looked at in one step. */
const ROWS_A_STEP = 500

export class DeadHolderCleanup {
  readonly #machine: Machine
  readonly #files: LockFiles
  readonly #peers: Peers
  readonly #interests: ReadonlyMap<string, number>
  /** Dead peers and locks that are looked at again soon. */
  readonly #rechecking = new Set<string>()
  #closed = false

  /** @param interests the locks that claims of ours wait for */
  constructor(
    machine: Machine,
    files: LockFiles,
    peers: Peers,
    interests: ReadonlyMap<string, number>,
  ) {
    this.#machine = machine
    this.#files = files
    this.#peers = peers
    this.#interests = interests
  }

  close(): void {
    this.#closed = true
  }

  /**
   * A peer died: its claims end, first on the locks that this store waits for, in each file by
   * itself. The TTL ends what cannot be ended here. The socket goes last: as long as it is there,
   * it proves the death to others.
   */
  async takeOver(address: SocketAddress): Promise<void> {
    const ends = await Promise.allSettled(
      this.#files.existing().map((file) => this.#takeOverIn(file, address)),
    )
    if (ends.every((end) => end.status === 'fulfilled' && end.value)) this.#peers.forget(address)
  }

  /** Resolves to whether the file knows the peer no more. */
  async #takeOverIn(file: LockFile, address: SocketAddress): Promise<boolean> {
    const locks = Array.from(this.#interests.keys()).filter((lock) => this.#files.of(lock) === file)
    await Promise.all(locks.map((lock) => this.#end(lock, address)))
    for (;;) {
      const swept = await this.#sweep(file, address)
      if (swept !== 'more') return swept === 'clean'
    }
  }

  /**
   * Resolves to whether the peer may be dead. Then the lock may be free: this process or another
   * ended its claims.
   */
  async endIfDead(lock: string, address: SocketAddress): Promise<boolean> {
    // A missing socket proves no death. But another store, or our own cleanup, may have cleaned up
    // since we read the row. It ended the claims before it removed the socket, so another attempt
    // finds the lock as it is, and harms no live holder.
    if (!(await this.#peers.isDead(address))) return !existsSync(address.socket)
    await this.#end(lock, address)
    return true
  }

  /** Ends the claims of those of these peers that died. Resolves to whether any did. */
  async endDead(peers: readonly SocketAddress[]): Promise<boolean> {
    const unknown = [...new Map(peers.map((address) => [address.id, address])).values()]
    let anyDied = false
    while (unknown.length > 0) {
      const probed = unknown.splice(0, PROBES).map(async (address) => {
        if (!(await this.#peers.isDead(address))) return
        anyDied = true
        await this.takeOver(address)
      })
      await Promise.all(probed)
    }
    return anyDied
  }

  /** Ends the claims of a dead peer on one lock. Resolves to whether there were any. */
  #end(lock: string, address: SocketAddress): Promise<boolean> {
    return this.#files.of(lock).transactions.do({
      work: (transaction) =>
        transaction.onLock(lock, (state, step, { peerIds }) => {
          let ended = false
          for (const claim of [...state.holders.values(), ...state.waiters.values()]) {
            if (peerIds.get(claim.id) !== address.id) continue
            if (this.#mayStillWork(claim.owner, address)) {
              this.#recheck(lock, address)
              continue
            }
            ended = true
            rule.withdraw(state, { lock, id: claim.id, ttlMs: claim.ttlMs }, step)
          }
          return ended
        }),
    })
  }

  /** Whether a command that the dead holder started may be alive. */
  #mayStillWork(owner: Owner, address: SocketAddress): boolean {
    if (!owner.group) return false
    return address.pidNamespace !== this.#machine.pidNamespace || !isGroupGone(owner.group)
  }

  /**
   * Checks again until the command is gone, or no claim of this store waits. The TTL is the limit
   * in any case. All attempts share these checks: each reads the process table of the machine.
   */
  #recheck(lock: string, address: SocketAddress): void {
    const key = `${address.id} ${lock}`
    if (this.#rechecking.has(key)) return
    this.#rechecking.add(key)
    const [shortestMs, longestMs] = RECHECK_GROUP_MS
    const delayMs = shortestMs + systemRandom.next() * (longestMs - shortestMs)
    const recheck = (): void => {
      this.#rechecking.delete(key)
      if (this.#closed || !this.#interests.has(lock)) return
      this.#end(lock, address).catch(() => undefined) // the TTL ends it then
    }
    this.#machine.timer(delayMs, recheck, true)
  }

  /**
   * Ends claims of a dead peer on locks that this store does not wait for. A process that promoted
   * a waiter that had died need not wait for the lock. Without such claims it removes the peer's
   * row from the file.
   */
  async #sweep(file: LockFile, address: SocketAddress): Promise<'clean' | 'more' | 'kept'> {
    const names = await findLocksOf(file, address)
    if (names.length === 0) {
      // A lock never gets a claim of a dead peer, so none came in behind the search.
      await file.transactions.do({
        work: ({ db }) => db.prepare('DELETE FROM peers WHERE id = ?').run(address.id),
      })
      return 'clean'
    }
    const ended = await Promise.all(names.map((lock) => this.#end(lock, address)))
    return ended.includes(true) ? 'more' : 'kept'
  }
}

/** Finds some locks with claims of a peer. Reads a portion of the busy locks at a time. */
async function findLocksOf(file: LockFile, { id }: SocketAddress): Promise<readonly string[]> {
  const found: string[] = []
  let after: string | undefined = ''
  while (after !== undefined && found.length < SWEEP) {
    const from: string = after
    const rows = await file.transactions.read(
      ({ db }) =>
        db
          .prepare(
            'SELECT name, instr(state, ?) > 0 AS named FROM locks ' +
              'WHERE busy = 1 AND name > ? ORDER BY name LIMIT ?',
          )
          .all(id, from, ROWS_A_STEP) as { name: string; named: number }[],
    )
    for (const { name, named } of rows) if (named === 1) found.push(name)
    after = rows.length < ROWS_A_STEP ? undefined : rows.at(-1)?.name
  }
  return found
}
