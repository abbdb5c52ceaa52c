/** One store of a console: what its looks have found, for all viewers. */
import type { Clock } from '../clock/clock.js'
import type { Locks } from '../locks/create.js'
import { namespaceOf } from '../locks/namespace-of.js'
import type { StealResult } from '../store/contract.js'
import type { StealTarget } from './actions/steal.js'
import { shownText, type Sight } from './access/sight.js'
import type { OwnEvents } from './history/own-events.js'
import { LockHistories } from './history/lock-histories.js'
import type { KnownLock } from './look/known-lock.js'
import { CountLines } from './look/lines.js'
import { StoreLooks } from './look/store-looks.js'
import { fits, makeTexts } from './table/search.js'
import { ordered } from './table/order.js'
import { Findings } from './trouble/findings.js'
import { marksOf } from './trouble/trouble-view.js'
import type { StoreView, Table, Totals, Trouble } from './view.js'

type DoctorFindings = NonNullable<StoreView['findings']>

/** A store to show, and what its locks do not know of it. */
export interface StoreSource {
  readonly locks: Locks
  /** Where the store is, without credentials. */
  readonly address?: string | undefined
  /** The option --store for the commands to copy, quoted, with a blank before it. */
  readonly storeOption?: string | undefined
  /** Examines a store that does not answer. */
  readonly diagnose?: (() => Promise<DoctorFindings>) | undefined
}

export interface LookTimes {
  readonly clock: Clock
  readonly refreshMs: number
  readonly waitWarnMs: number
}

/** How many prefixes have lines of their own. */
const MOST_PREFIXES = 20
/** How many tables are remembered: viewers often see the same one. */
const MOST_TABLES = 20
const DIAGNOSE_AGAIN_MS = 15_000

export class ShownStore implements StealTarget {
  readonly storeName: string
  readonly source: StoreSource
  readonly looks: StoreLooks
  readonly findings: Findings
  readonly histories: LockHistories
  /** Of a store that is away. */
  doctor: DoctorFindings | undefined
  marks: ReadonlyMap<string, Trouble['kind'][]> = new Map()
  readonly #clock: Clock
  readonly #namespace: string
  /** By the prefix of a viewer, the one that was viewed the longest ago first. */
  readonly #lines = new Map<string, { readonly sight: Sight; readonly lines: CountLines }>()
  readonly #tables = new Map<string, readonly KnownLock[]>()
  #tablesOf = -1
  #diagnosedMs = -Infinity

  constructor(storeName: string, source: StoreSource, times: LookTimes) {
    const { clock, refreshMs, waitWarnMs } = times
    this.storeName = storeName
    this.source = source
    this.#clock = clock
    this.#namespace = namespaceOf(source.locks)
    this.findings = new Findings(waitWarnMs)
    this.histories = new LockHistories(clock)
    this.looks = new StoreLooks({
      store: source.locks.store,
      prefix: this.#namespace === '' ? '' : `${this.#namespace}:`,
      clock,
      refreshMs,
      onChange: (lock, before, now) => this.histories.compare(lock, before, now),
      onLook: () => this.#onLook(),
    })
  }

  get ownEvents(): OwnEvents {
    return {
      lost: (lock, reason) => this.histories.note(lock, { what: 'lost', text: reason }),
      forgotten: (lock) => this.histories.note(lock, { what: 'forgotten' }),
      deadlock: (lock, cycle) => {
        this.findings.cycles.resolve(cycle, this.#clock.monotonicMs())
        for (const name of new Set([lock, ...cycle.map((step) => step.lock)]))
          this.histories.note(name, { what: 'deadlock' })
      },
    }
  }

  async steal(
    lock: string,
    options: { readonly claim: string; readonly now: boolean; readonly reason: string },
  ): Promise<StealResult> {
    const start = this.#namespace === '' ? '' : `${this.#namespace}:`
    if (!lock.startsWith(start)) return { holders: 0, waiters: 0, freeInMs: 0 }
    const result = await this.source.locks.steal(lock.slice(start.length), options)
    if (options.now && result.holders > 0)
      this.histories.note(lock, { what: 'stolen', text: shownText(options.reason) })
    await this.looks.ask([lock])
    return result
  }

  /** The names to ask for when a user searches for this text: one may be the full name. */
  namesFor(text: string): readonly string[] {
    return this.#namespace === '' ? [text] : [text, `${this.#namespace}:${text}`]
  }

  /** Resolves when `table` has to make few texts for a search. */
  async prepareSearch(sight: Sight): Promise<void> {
    const visible = this.looks.known.sorted().filter(({ lock }) => sight.sees(lock))
    await makeTexts(visible, this.#clock)
  }

  /** The visible locks that fit a search, in order. */
  table(sight: Sight, search: string, sort: Table['sort']): readonly KnownLock[] {
    const { known } = this.looks
    if (this.#tablesOf !== known.version) this.#tables.clear()
    this.#tablesOf = known.version
    const key = JSON.stringify([sight.prefix, search, sort])
    const made = this.#tables.get(key)
    if (made) return made
    if (this.#tables.size >= MOST_TABLES) this.#tables.clear()
    const text = search.toLowerCase()
    const visible = known.sorted().filter((lock) => sight.sees(lock.lock) && fits(lock, text))
    const table = ordered(visible, sort)
    this.#tables.set(key, table)
    return table
  }

  totals(sight: Sight): Totals {
    const { known, moment, isComplete } = this.looks
    let [locks, holders, waiters] = [0, 0, 0]
    let [oldestSeenMs, waitingSinceMs] = [Infinity, Infinity]
    for (const lock of known.values()) {
      if (!sight.sees(lock.lock)) continue
      locks += 1
      holders += lock.info.holders.length
      waiters += lock.waiterCount
      oldestSeenMs = Math.min(oldestSeenMs, lock.seenMs)
      waitingSinceMs = Math.min(waitingSinceMs, lock.waitingSinceMs)
    }
    const nowMs = moment.monotonicMs
    const walk = locks > 0 ? { walkMs: Math.max(0, Math.round(nowMs - oldestSeenMs)) } : {}
    const oldestWaitMs = Number.isFinite(waitingSinceMs)
      ? Math.max(0, Math.round(nowMs - waitingSinceMs))
      : 0
    return { locks, holders, waiters, oldestWaitMs, isComplete, ...walk }
  }

  /** The lines of the viewers with this prefix. They begin with the first of these viewers. */
  linesOf(sight: Sight): CountLines {
    const { prefix } = sight
    const entry = this.#lines.get(prefix) ?? { sight, lines: new CountLines(this.#clock) }
    this.#lines.delete(prefix)
    this.#lines.set(prefix, entry)
    for (const oldest of this.#lines.keys()) {
      if (this.#lines.size <= MOST_PREFIXES) break
      this.#lines.delete(oldest)
    }
    return entry.lines
  }

  close(): void {
    this.looks.close()
  }

  #onLook(): void {
    this.findings.look(this.looks.known, this.looks.moment.monotonicMs)
    this.marks = marksOf(this.findings.all)
    const { latencyMs } = this.looks.health
    for (const { sight, lines } of this.#lines.values()) {
      const { locks, waiters, oldestWaitMs } = this.totals(sight)
      lines.add({ locks, waiters, oldestWaitMs, latencyMs })
    }
    this.#diagnose()
  }

  #diagnose(): void {
    const { diagnose } = this.source
    if (this.looks.health.state !== 'away') {
      this.doctor = undefined
      return
    }
    const nowMs = this.#clock.monotonicMs()
    if (!diagnose || nowMs - this.#diagnosedMs < DIAGNOSE_AGAIN_MS) return
    this.#diagnosedMs = nowMs
    void diagnose().then(
      (findings) => {
        if (this.looks.health.state === 'away') this.doctor = findings
      },
      () => undefined,
    )
  }
}
