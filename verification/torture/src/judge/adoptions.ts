/**
 * Leases that passed to another process. The name of an adopter, the heir, says which lease it is
 * for: `c2.heir0/c1.a@4711#3` is for the third lease that process 4711 exported.
 */
import type { HistoryEvent } from '@holdfast/conformance'
import type { Adoptions, Finding } from './judgement.js'

interface Origin {
  /** The exported lease. */
  readonly id: string
  readonly client: string
  readonly pid: number
}

function originOf({ client }: HistoryEvent): Origin | undefined {
  const [, id, actor, pid] = /\.heir\d+\/((.+)@(\d+)#\d+)$/.exec(client) ?? []
  if (id === undefined || actor === undefined) return undefined
  return { id, client: actor, pid: Number(pid) }
}

/** An adopted lease keeps its token, so that tokens are judged without it. */
export function withoutHeirs(events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.filter((event) => !originOf(event))
}

/** To the protected resource a lease and the one that adopted it are the same. */
export function asOneHolder(events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.map((event) => {
    const origin = originOf(event)
    return origin ? { ...event, client: origin.client, pid: origin.pid } : event
  })
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
