/**
 * The oversell scenario: more buyers than items, in several processes, and a sale that only a lock
 * protects. What a strategy does with its transaction at the end of the lock decides whether more
 * is sold than there is.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface Shop {
  readonly items: number
  readonly buyers: number
  readonly processes: number
}

/** A name in strategies.mjs. */
export type StrategyName =
  'lease' | 'lock on the row' | 'advisory lock' | 'optimistic' | 'released before the commit'

export interface Outcome {
  /** Buyers that got the answer that they have an item. */
  readonly sold: number
  readonly refused: number
}

/** What a process of buyers reports. */
interface Message {
  readonly event: 'read' | 'at the gate' | 'done'
  readonly buyer: number
  /** When it read what is left. */
  readonly atNs?: string
  readonly sold?: boolean
}

/** The limit for the last buyer. */
const LIMIT_MS = 50_000

/** The shop as it is before the first buyer comes. Runs again for the next strategy. */
export function shopSql({ items }: Shop): string {
  return `drop table if exists items; drop table if exists orders;
    create table items (id int primary key, stock int not null, version int not null default 0); create table orders (buyer int primary key);
    insert into items (id, stock) values (1, ${items});`
}

/** Lets all buyers come at once and waits for the last. */
export async function runScenario(
  url: string,
  strategy: StrategyName,
  shop: Shop,
): Promise<Outcome> {
  const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))
  const gate = new Gate(shop.buyers)
  const children = shares(shop).map(([first, count]) => {
    const child = fork(worker, [url, strategy, String(first), String(count)])
    child.on('message', (message) => gate.heard(message as Message, child))
    return child
  })
  const kill = (): void => {
    for (const child of children) child.kill('SIGKILL')
  }
  const timer = setTimeout(kill, LIMIT_MS)
  try {
    await Promise.all(children.map(ended))
  } finally {
    clearTimeout(timer)
    kill()
  }
  return { sold: gate.sold, refused: gate.refused }
}

/** The numbers of the first buyer and of the buyers of each process. */
function shares({ buyers, processes }: Shop): [first: number, count: number][] {
  return Array.from({ length: processes }, (_, index) => {
    const first = Math.floor((buyers * index) / processes)
    return [first, Math.floor((buyers * (index + 1)) / processes) - first]
  })
}

async function ended(child: ChildProcess): Promise<void> {
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`a process of buyers ended with ${code}`)
}

/**
 * Holds a transaction until another buyer has read the stock, or none is left that could. So
 * the worst order of events is not hoped for: it is made. A strategy that keeps the lock until the
 * commit has no buyer at the gate.
 */
class Gate {
  sold = 0
  refused = 0
  #remaining: number
  #lastReadNs = 0n
  readonly #readNs = new Map<number, bigint>()
  readonly #waiting = new Map<number, ChildProcess>()

  constructor(buyers: number) {
    this.#remaining = buyers
  }

  heard({ event, buyer, atNs, sold }: Message, child: ChildProcess): void {
    if (event === 'read') this.#read(buyer, BigInt(atNs ?? 0))
    else if (event === 'at the gate') this.#waiting.set(buyer, child)
    else {
      this.#remaining -= 1
      if (sold === true) this.sold += 1
      else this.refused += 1
    }
    this.#open()
  }

  /** Reports of two processes may arrive in the other order. */
  #read(buyer: number, atNs: bigint): void {
    this.#readNs.set(buyer, atNs)
    if (atNs > this.#lastReadNs) this.#lastReadNs = atNs
  }

  #open(): void {
    const allWait = this.#waiting.size === this.#remaining
    for (const [buyer, child] of this.#waiting) {
      if (!allWait && (this.#readNs.get(buyer) ?? 0n) >= this.#lastReadNs) continue
      this.#waiting.delete(buyer)
      child.send(buyer)
    }
  }
}
