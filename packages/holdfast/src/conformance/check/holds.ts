/** From a history to holds: who believed to hold what, from when to when. */
import type { HistoryEvent } from '../history.js'

/** What a checker found. */
export interface Violation {
  readonly property: string
  readonly key: string
  /** A sentence for people. */
  readonly message: string
}

/** One lease, as its holder saw it. */
export interface Hold {
  readonly key: string
  readonly client: string
  readonly pid: number
  readonly weight: number
  readonly capacity: number
  readonly token: bigint | undefined
  /** When it was asked for. */
  readonly invokedNs: bigint
  /** When the holder was told. */
  readonly startNs: bigint
  /** When the holder gave it up, was told of the loss, was killed, or had to stop believing. */
  readonly endNs: bigint
}

type Open = { -readonly [Name in keyof Hold]: Hold[Name] } & { deadlineNs: bigint | undefined }

const NEVER = 2n ** 63n

/** The holds of a history, in the order in which they began. Events of several files need not be sorted. */
export function holdsOf(events: readonly HistoryEvent[]): Hold[] {
  const sorted = [...events].sort((a, b) => (a.t_ns < b.t_ns ? -1 : a.t_ns > b.t_ns ? 1 : 0))
  const holds: Hold[] = []
  const invoked = new Map<string, bigint>()
  const open = new Map<string, Open>()
  const end = (actor: string, atNs: bigint): void => {
    const hold = open.get(actor)
    if (!hold) return
    open.delete(actor)
    holds.push(finish(hold, atNs))
  }
  for (const event of sorted) {
    const actor = `${event.pid} ${event.client} ${event.key}`
    const what = `${event.f} ${event.type}`
    if (what === 'acquire invoke') invoked.set(actor, event.t_ns)
    else if (what === 'acquire ok') open.set(actor, begin(event, invoked.get(actor) ?? event.t_ns))
    else if (what === 'renew ok') extend(open.get(actor), event)
    else if (what === 'release invoke' || event.f === 'lost') end(actor, event.t_ns)
    else if (event.f === 'kill') {
      for (const [other, hold] of open) if (hold.pid === event.pid) end(other, event.t_ns)
    }
  }
  for (const hold of open.values()) holds.push(finish(hold, NEVER))
  return holds.sort((a, b) => (a.startNs < b.startNs ? -1 : a.startNs > b.startNs ? 1 : 0))
}

function begin(event: HistoryEvent, invokedNs: bigint): Open {
  const { key, client, pid, weight = 1, capacity = 1, token, deadline_ns: deadlineNs } = event
  return {
    key,
    client,
    pid,
    weight,
    capacity,
    token,
    invokedNs,
    startNs: event.t_ns,
    endNs: NEVER,
    deadlineNs,
  }
}

function extend(hold: Open | undefined, { deadline_ns: deadlineNs }: HistoryEvent): void {
  if (!hold || deadlineNs === undefined) return
  if (hold.deadlineNs === undefined || deadlineNs > hold.deadlineNs) hold.deadlineNs = deadlineNs
}

function finish({ deadlineNs, ...hold }: Open, atNs: bigint): Hold {
  return { ...hold, endNs: deadlineNs !== undefined && deadlineNs < atNs ? deadlineNs : atNs }
}

/** Holds by the lock that they are of. */
export function byKey(holds: readonly Hold[]): Map<string, Hold[]> {
  const groups = new Map<string, Hold[]>()
  for (const hold of holds) {
    const group = groups.get(hold.key)
    if (group) group.push(hold)
    else groups.set(hold.key, [hold])
  }
  return groups
}
