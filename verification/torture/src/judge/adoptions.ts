/**
 * Leases that passed to another process. The name of an adopter, the heir, says which lease it is
 * for: `c2.heir0/c1.a@4711#3` is for a lease of its own that process 4711 exported.
 */
import type { HistoryEvent } from '@holdfast/conformance'
import type { Adoptions, Finding } from './judgement.js'

interface Origin {
  /** The exported lease. */
  readonly id: string
  readonly pid: number
}

function originOf({ client }: HistoryEvent): Origin | undefined {
  const [, id, pid] = /\.heir\d+\/(.+@(\d+)#\d+)$/.exec(client) ?? []
  return id === undefined ? undefined : { id, pid: Number(pid) }
}

/**
 * Leaves out adopters of shared leases. On etcd their tokens lie between those of other holders,
 * and no resource compares them.
 */
export function withoutSharedHeirs(events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.filter((event) => event.mode !== 'shared' || !originOf(event))
}

/** A handle is adopted once. */
export function adoptedTwice(events: readonly HistoryEvent[]): Omit<Finding, 'promised'>[] {
  const first = new Map<string, HistoryEvent>()
  const found: Omit<Finding, 'promised'>[] = []
  for (const event of adoptions(events)) {
    const { id } = originOf(event) as Origin
    const before = first.get(id)
    first.set(id, before ?? event)
    if (!before) continue
    const message = `"${event.key}" was adopted by ${before.client}, and then by ${event.client}.`
    found.push({
      property: 'exclusion',
      kind: 'adopted-twice',
      key: event.key,
      message,
      events: [before, event],
    })
  }
  return found
}

export function countAdoptions(events: readonly HistoryEvent[]): Adoptions {
  const killedNs = new Map(
    events.flatMap(({ f, pid, t_ns }) => (f === 'kill' ? [[pid, t_ns]] : [])),
  )
  const all = adoptions(events)
  const ofKilled = all.filter((event) => {
    const atNs = killedNs.get(originOf(event)?.pid ?? 0)
    return atNs !== undefined && atNs < event.t_ns
  })
  return { adopted: all.length, ofKilled: ofKilled.length }
}

function adoptions(events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.filter(
    (event) => event.f === 'acquire' && event.type === 'ok' && originOf(event) !== undefined,
  )
}
