/** The holds and waits of a history, as the clients saw them. */
import type { HistoryAction, HistoryEvent } from '../history/index.js'
import { NEVER, type Hold, type Release, type Wait } from './hold.js'
import { truthOf, type Truth } from './server-holds.js'
import { inOrder, type Trail } from './violation.js'

/** A history, put together: holds, waits and the events themselves. */
export interface Story {
  /** In the order in which they began. */
  readonly holds: Hold[]
  /** The requests that did not become leases. */
  readonly waits: Wait[]
  /** What the server held, by lock. Empty when the history has no `truth` events. */
  readonly truth: ReadonlyMap<string, Truth>
  /** All events, in the order of time. */
  readonly events: readonly HistoryEvent[]
}

type Writable<Type> = { -readonly [Name in keyof Type]: Type[Name] }
type OpenHold = Writable<Omit<Hold, 'release'>> & {
  release: Writable<Release> | undefined
  /** The event that extended it last, for the piece of history that is shown. */
  renewal: HistoryEvent | undefined
}
type OpenWait = Writable<Wait>

/** What one client does with one lock. */
interface Actor {
  wait: OpenWait | undefined
  hold: OpenHold | undefined
}

/** Returns the holds and waits of a history. The events need not be sorted. */
export function storyOf(events: readonly HistoryEvent[]): Story {
  const sorted = inOrder(events)
  const builder = new StoryBuilder()
  for (const event of sorted) builder.take(event)
  let truth: ReadonlyMap<string, Truth> | undefined
  return {
    holds: builder.finish(),
    waits: builder.waits,
    // Made on demand: most checks do not need it.
    get truth() {
      return (truth ??= truthOf(builder.truths))
    },
    events: sorted,
  }
}

/** Returns the holds of a history, in the order in which they began. */
export function holdsOf(events: readonly HistoryEvent[]): Hold[] {
  return storyOf(events).holds
}

class StoryBuilder {
  readonly waits: OpenWait[] = []
  readonly truths: HistoryEvent[] = []
  readonly #holds: OpenHold[] = []
  /** By process, client and lock. One key joined from the three would take most of the time. */
  readonly #processes = new Map<number, Map<string, Map<string, Actor>>>()

  take(event: HistoryEvent): void {
    if (event.f === 'kill') return this.#kill(event)
    if (event.f === 'truth') return void this.truths.push(event)
    if (event.f === 'write' || event.f === 'read') return
    const actor = this.#actor(event)
    if (event.f === 'acquire') return this.#acquire(actor, event)
    if (event.f === 'enqueued') {
      if (actor.wait) enqueue(actor.wait, event)
    } else if (actor.hold) DURING_HOLD[event.f]?.(actor.hold, event)
  }

  /** Returns the holds, in the order in which they began. */
  finish(): Hold[] {
    for (const hold of this.#holds) {
      if (hold.deadlineNs < hold.endNs) hold.endNs = hold.deadlineNs
      if (hold.renewal) follow(hold, hold.renewal)
    }
    for (const clients of this.#processes.values()) {
      for (const locks of clients.values()) {
        for (const { wait } of locks.values()) if (wait) this.waits.push(wait)
      }
    }
    return this.#holds
  }

  #actor({ pid, client, key }: HistoryEvent): Actor {
    const clients = inserted(this.#processes, pid, () => new Map<string, Map<string, Actor>>())
    const locks = inserted(clients, client, () => new Map<string, Actor>())
    return inserted(locks, key, () => ({ wait: undefined, hold: undefined }))
  }

  #acquire(actor: Actor, event: HistoryEvent): void {
    const { wait } = actor
    if (event.type === 'invoke') {
      // A second request before an answer to the first, which then waits to the end of the history.
      if (wait) this.waits.push(wait)
      actor.wait = begun(event)
      return
    }
    actor.wait = undefined
    if (event.type === 'ok') {
      actor.hold = granted(event, wait)
      this.#holds.push(actor.hold)
    } else if (wait) {
      wait.endNs = event.t_ns
      follow(wait, event)
      this.waits.push(wait)
    }
  }

  /** Ends all holds and waits of the process. A later process may have the same number. */
  #kill(event: HistoryEvent): void {
    const clients = this.#processes.get(event.pid)
    this.#processes.delete(event.pid)
    for (const locks of clients?.values() ?? []) {
      for (const { wait, hold } of locks.values()) {
        if (hold) end(hold, event)
        if (!wait) continue
        wait.endNs = event.t_ns
        follow(wait, event)
        this.waits.push(wait)
      }
    }
  }
}

function inserted<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make()))
  return value
}

function follow(one: { trail: Trail }, event: HistoryEvent): void {
  one.trail = { event, before: one.trail }
}

function begun(event: HistoryEvent): OpenWait {
  const { key, client, pid, t_ns: invokedNs } = event
  return {
    key,
    client,
    pid,
    ...sizeOf(event),
    invokedNs,
    enqueuedNs: undefined,
    endNs: undefined,
    trail: { event, before: undefined },
  }
}

function sizeOf({
  mode,
  weight = 1,
  capacity = 1,
}: HistoryEvent): Pick<Hold, 'weight' | 'capacity'> {
  return { weight: mode === 'exclusive' ? capacity : weight, capacity }
}

function granted(event: HistoryEvent, wait: OpenWait | undefined): OpenHold {
  const { key, client, pid, claim, token, deadline_ns = NEVER, t_ns } = event
  return {
    key,
    client,
    pid,
    ...sizeOf(event),
    claim,
    token,
    invokedNs: wait?.invokedNs ?? t_ns,
    enqueuedNs: wait?.enqueuedNs,
    startNs: t_ns,
    endNs: NEVER,
    deadlineNs: deadline_ns,
    lowered: undefined,
    release: undefined,
    overdue: undefined,
    trail: { event, before: wait?.trail },
    renewal: undefined,
  }
}

/** What an action changes about the hold of its actor. */
const DURING_HOLD: Partial<Record<HistoryAction, (hold: OpenHold, event: HistoryEvent) => void>> = {
  renew(hold, event) {
    if (event.type === 'ok') extend(hold, event)
  },
  downgrade(hold, event) {
    if (event.type === 'invoke') lower(hold, event)
  },
  release,
  lost: end,
  held: noteCheck,
}

function enqueue(wait: OpenWait, event: HistoryEvent): void {
  wait.enqueuedNs ??= event.t_ns
  follow(wait, event)
}

function extend(hold: OpenHold, event: HistoryEvent): void {
  const { deadline_ns } = event
  if (deadline_ns === undefined || deadline_ns <= hold.deadlineNs) return
  hold.deadlineNs = deadline_ns
  hold.renewal = event
}

/** From the request on, the holder no longer relies on being alone. */
function lower(hold: OpenHold, event: HistoryEvent): void {
  if (hold.endNs !== NEVER || hold.lowered) return
  hold.lowered = { atNs: event.t_ns, weight: event.weight ?? 1 }
  follow(hold, event)
}

function release(hold: OpenHold, event: HistoryEvent): void {
  if (event.type === 'invoke') {
    hold.release ??= { askedNs: event.t_ns, answeredNs: undefined, answer: undefined }
    end(hold, event)
    return
  }
  if (!hold.release || hold.release.answer) return
  hold.release.answer = event.type
  hold.release.answeredNs = event.t_ns
  follow(hold, event)
}

function noteCheck(hold: OpenHold, event: HistoryEvent): void {
  if (event.type === 'fail') return end(hold, event)
  if (event.t_ns < hold.deadlineNs && hold.endNs === NEVER) return
  hold.overdue ??= event
}

/**
 * Ends the hold, unless it has ended before. A release may say until when the holder trusts the
 * lease: it was stopped in between, or the lock is to stay taken. The event is kept for the piece
 * that is shown.
 */
function end(hold: OpenHold, event: HistoryEvent): void {
  const { f, t_ns, deadline_ns = t_ns } = event
  const endNs = f === 'release' ? deadline_ns : t_ns
  if (endNs < hold.endNs) hold.endNs = endNs
  follow(hold, event)
}
