/**
 * Virtual time: a heap of what is to happen, and the one loop that makes it happen.
 *
 * Time is the true time of the modelled world, in milliseconds; a process inside reads it only
 * through its own clock. What one event makes ready (promise callbacks, and what they make
 * ready in turn) runs before the next one. That takes a moment for each reading of a clock.
 */

export interface Appointment {
  cancel(): void
}

interface Entry extends Appointment {
  readonly dueMs: number
  readonly order: number
  fire: (() => void) | undefined
}

export class Agenda {
  #nowMs = 0
  /** When the present event was due. */
  #eventMs = 0
  #order = 0
  #fired = 0
  readonly #heap: Entry[] = []
  readonly #momentMs: () => number

  /** @param momentMs returns how long it takes until a program has read a clock */
  constructor(momentMs: () => number = () => 0) {
    this.#momentMs = momentMs
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** How many events have happened: a bound for runs that must not last forever. */
  get fired(): number {
    return this.#fired
  }

  /** A program is about to read a clock: a moment passes. */
  passMoment(): void {
    this.#nowMs += this.#momentMs()
  }

  /** What is due at the same time happens in the order in which it was entered. */
  at(timeMs: number, fire: () => void): Appointment {
    return this.#enter(Math.max(timeMs, this.#nowMs), fire)
  }

  after(delayMs: number, fire: () => void): Appointment {
    return this.at(this.#nowMs + delayMs, fire)
  }

  /** Right after the present event, also if others fell due in the moments that it took. */
  afterEvent(fire: () => void): Appointment {
    return this.#enter(this.#eventMs, fire)
  }

  #enter(dueMs: number, fire: () => void): Appointment {
    this.#order += 1
    const entry: Entry = {
      dueMs,
      order: this.#order,
      fire,
      // A cancelled entry stays in the heap until its time comes; taking it out would cost a
      // search.
      cancel: () => (entry.fire = undefined),
    }
    push(this.#heap, entry)
    return entry
  }

  /**
   * Runs events until `done` returns true, no event is left, or `untilMs` is reached.
   */
  async run(untilMs: number, done: () => boolean): Promise<void> {
    await drain()
    while (!done()) {
      const next = this.#next(untilMs)
      if (!next) {
        this.#nowMs = Math.max(this.#nowMs, untilMs)
        return
      }
      this.#eventMs = next.dueMs
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      this.#fired += 1
      next.fire?.()
      await drain()
    }
  }

  #next(untilMs: number): Entry | undefined {
    for (let head = this.#heap[0]; head && head.dueMs <= untilMs; head = this.#heap[0]) {
      pop(this.#heap)
      if (head.fire) return head
    }
    return undefined
  }
}

/**
 * Node runs every microtask that is ready before the next tick, so a tick comes when all has
 * settled. It costs half of what an immediate does, which goes through the operating system.
 */
function drain(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

function before(a: Entry, b: Entry): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)
}

function push(heap: Entry[], entry: Entry): void {
  let hole = heap.length
  heap.push(entry)
  while (hole > 0) {
    const parent = (hole - 1) >> 1
    const above = heap[parent] as Entry
    if (!before(entry, above)) break
    heap[hole] = above
    hole = parent
  }
  heap[hole] = entry
}

function pop(heap: Entry[]): void {
  const last = heap.pop() as Entry
  const { length } = heap
  if (length === 0) return
  let hole = 0
  for (let child = 1; child < length; child = 2 * hole + 1) {
    const right = heap[child + 1]
    if (right && before(right, heap[child] as Entry)) child += 1
    const below = heap[child] as Entry
    if (!before(below, last)) break
    heap[hole] = below
    hole = child
  }
  heap[hole] = last
}
