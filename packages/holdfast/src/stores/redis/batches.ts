/**
 * Micro-batching: all attempts, renewals and withdrawals of one turn of the event loop travel as one script call.
 *
 * Withdrawals go first, since they make room. An attempt that was made in the same turn as its own withdrawal then finds
 * itself withdrawn, which is as good an answer as any. Each item has a result of its own.
 */
import { explain } from './errors.js'
import { textOf } from './replies.js'

/** `a`: attempt, `r`: renew, `w`: withdraw, `t`: retract. */
export type Verb = 'a' | 'r' | 'w' | 't'

export interface Item {
  readonly verb: Verb
  readonly key: string
  /** The full name of the lock, for errors. */
  readonly lock: string
  readonly claimId: string
  /** What the script needs to know besides the claim's id, as JSON. Items of one shape share it in the message. */
  readonly shape: string
  done(line: string): void
  failed(error: unknown): void
}

/**
 * So many items go in one call at most. The call leaves as soon as it is full: then the server works on it while the rest
 * of the turn's work is still being done here.
 */
const LARGEST_BATCH = 32

export class Batches {
  readonly #channel: string
  readonly #run: (keys: readonly string[], payload: string) => Promise<unknown>
  #withdrawals: Item[] = []
  #others: Item[] = []
  #scheduled = false
  readonly #onTurnEnd = (): void => {
    this.#scheduled = false
    this.#flush()
  }

  /** @param channel where grants for waiters of this client are published */
  constructor(channel: string, run: (keys: readonly string[], payload: string) => Promise<unknown>) {
    this.#channel = channel
    this.#run = run
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
    // After the promises that are settled in this turn have had their say: they may have more to ask.
    process.nextTick(this.#onTurnEnd)
  }

  #flush(): void {
    const items = this.#withdrawals.length === 0 ? this.#others : this.#withdrawals.concat(this.#others)
    if (items.length === 0) return
    this.#withdrawals = []
    this.#others = []
    this.#send(items)
  }

  #send(items: readonly Item[]): void {
    this.#run(
      items.map(({ key }) => key),
      payloadOf(this.#channel, items),
    ).then(
      (reply) => distribute(items, reply),
      (error: unknown) => {
        for (const item of items) item.failed(explain(error, item.lock))
      },
    )
  }
}

function payloadOf(channel: string, items: readonly Item[]): string {
  const shapes = new Map<string, number>()
  let list = ''
  for (const { verb, shape, claimId } of items) {
    let index = shapes.get(shape)
    if (index === undefined) shapes.set(shape, (index = shapes.size))
    list += `${list === '' ? '' : ','}"${verb}",${index},${JSON.stringify(claimId)}`
  }
  return `["${channel}",[${[...shapes.keys()].join(',')}],[${list}]]`
}

function distribute(items: readonly Item[], reply: unknown): void {
  const lines = textOf(reply).split('\n')
  for (const [index, item] of items.entries()) {
    const line = lines[index] ?? 'e no result'
    try {
      if (line.startsWith('e ')) item.failed(explain(new Error(line.slice(2)), item.lock))
      else item.done(line)
    } catch (error) {
      item.failed(explain(error, item.lock))
    }
  }
}
