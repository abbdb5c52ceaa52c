/**
 * Micro-batching: all attempts, renewals and withdrawals of one turn of the event loop travel as
 * one script call. In a Cluster there is one for each lock, since a script there may only touch
 * keys of one slot: they leave together, and those for one member travel together.
 *
 * Withdrawals go first, since they make room. An attempt that was made in the same turn as its own
 * withdrawal then finds itself withdrawn, which is as good an answer as any. Each item has a result
 * of its own.
 */
import { explain } from './errors.js'
import { textOf } from './replies.js'
import type { EncodedTerms } from './terms-encoder.js'

/** `a`: attempt, `r`: renew, `w`: withdraw, `t`: retract, `s`: seal. */
export type Verb = 'a' | 'r' | 'w' | 't' | 's'

export interface Item {
  readonly verb: Verb
  readonly key: string
  /** The full name of the lock, for errors. */
  readonly lock: string
  readonly claimId: string
  /**
   * What the script needs to know besides the claim's id. Items of one shape share it in the
   * message.
   */
  readonly shape: EncodedTerms
  done(line: string): void
  failed(error: unknown): void
}

/**
 * So many items go in one call at most. The call leaves as soon as it is full: then the server
 * works on it while the rest of the turn's work is still being done here.
 */
const LARGEST_BATCH = 32

export interface BatchSettings {
  /** Whether each call may only concern one lock. */
  readonly oneLockACall: boolean
  /** The command with which scripts publish. */
  readonly publish: string
  /** Calls at the end of the turn. */
  soon(work: () => void): void
  /** Calls when what was sent in this turn is on its way. */
  later(work: () => void): void
  /** Where grants of a lock for waiters of this client are published. */
  channelOf(lock: string): string
  run(keys: readonly string[], args: readonly string[]): Promise<unknown>
}

export class Batches {
  readonly #settings: BatchSettings
  #withdrawals: Item[] = []
  #others: Item[] = []
  #scheduled = false
  readonly #onTurnEnd = (): void => {
    this.#scheduled = false
    this.#flush()
  }

  constructor(settings: BatchSettings) {
    this.#settings = settings
  }

  add(item: Item): void {
    const queue = item.verb === 'w' ? this.#withdrawals : this.#others
    queue.push(item)
    if (this.#withdrawals.length + this.#others.length >= LARGEST_BATCH) {
      this.#flush()
      return
    }
    if (this.#scheduled) return
    this.#scheduled = true
    // After the promises that are settled in this turn have had their say: they may have more to
    // ask.
    this.#settings.soon(this.#onTurnEnd)
  }

  #flush(): void {
    const [withdrawals, others] = [this.#withdrawals, this.#others]
    if (withdrawals.length + others.length === 0) return
    if (withdrawals.length > 0) this.#withdrawals = []
    if (others.length > 0) this.#others = []
    if (withdrawals.length === 0) this.#sendAll(others)
    else if (others.length === 0) this.#sendAll(withdrawals)
    else this.#sendBoth(withdrawals, others)
  }

  /**
   * Who asks for what this client gives up in the same turn goes to the end of the queue. That can
   * wait until the one who is next has been told: the server tells nobody before it has done all
   * that it was sent.
   */
  #sendBoth(withdrawals: readonly Item[], others: readonly Item[]): void {
    const freed = new Set(withdrawals.map(({ key }) => key))
    const [now, later]: [Item[], Item[]] = [[], []]
    for (const item of others) (item.verb === 'a' && freed.has(item.key) ? later : now).push(item)
    this.#sendAll(withdrawals.concat(now))
    if (later.length > 0) this.#settings.later(() => this.#sendAll(later))
  }

  #sendAll(items: readonly Item[]): void {
    if (!this.#settings.oneLockACall) {
      this.#send(items)
      return
    }
    const byLock = new Map<string, Item[]>()
    for (const item of items) {
      const group = byLock.get(item.key)
      if (group) group.push(item)
      else byLock.set(item.key, [item])
    }
    for (const group of byLock.values()) this.#send(group)
  }

  #send(items: readonly Item[]): void {
    const [first] = items
    if (!first) return
    const where = `${this.#settings.publish} ${this.#settings.channelOf(first.lock)}`
    if (items.length === 1) this.#sendAlone(first, where)
    else this.#sendBatch(items, where)
  }

  /** A text that the script would have to take apart would be most of what one item costs. */
  #sendAlone(item: Item, where: string): void {
    const { verb, shape, claimId } = item
    this.#settings.run([item.key], [where, verb, shape.text, claimId, ...shape.fastArgs]).then(
      (reply) => answer(item, reply),
      (error: unknown) => item.failed(explain(error, item.lock)),
    )
  }

  #sendBatch(items: readonly Item[], where: string): void {
    this.#settings
      .run(
        items.map(({ key }) => key),
        [where, ...payloadOf(items)],
      )
      .then((reply) => distribute(items, textOf(reply).split('\n')))
      .catch((error: unknown) => {
        for (const item of items) item.failed(explain(error, item.lock))
      })
  }
}

/** Which item is of which verb and shape, and then the shapes. */
function payloadOf(items: readonly Item[]): string[] {
  const shapes: string[] = []
  const list: (string | number)[] = []
  for (const { verb, shape, claimId } of items) {
    // Nearly always they are all of one or two shapes.
    let index = shapes.indexOf(shape.text)
    if (index < 0) index = shapes.push(shape.text) - 1
    list.push(verb, index, claimId)
  }
  return [JSON.stringify(list), ...shapes]
}

function distribute(items: readonly Item[], lines: readonly string[]): void {
  let index = 0
  for (const item of items) answer(item, lines[index++] ?? NO_LINE)
}

const NO_LINE = 'e no result'

function answer(item: Item, reply: unknown): void {
  try {
    const line = textOf(reply)
    if (line.startsWith('e ')) item.failed(explain(new Error(line.slice(2)), item.lock))
    else item.done(line)
  } catch (error) {
    item.failed(explain(error, item.lock))
  }
}
