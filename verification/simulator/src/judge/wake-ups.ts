/**
 * Lost wake-ups cost a heartbeat, which hides them. Where nothing goes wrong, a waiter learns of
 * its turn long before.
 */
import type { Outcome } from '../run.js'
import { nanoseconds } from '../workload/chronicle.js'
import type { Finding } from './finding.js'

/** The first heartbeat comes later than this after its turn, in most cases, in milliseconds. */
const WITHIN_MS = 150

export function lateWakeUps({ events, serverHolds }: Outcome): Finding[] {
  const believed = new Map<string, bigint>()
  for (const { f, type, claim, t_ns } of events)
    if (f === 'acquire' && type === 'ok' && claim !== undefined && !believed.has(claim))
      believed.set(claim, t_ns)
  return serverHolds.flatMap(({ lock, claimId, startMs }): Finding[] => {
    const atNs = believed.get(claimId)
    if (atNs === undefined || atNs <= nanoseconds(startMs + WITHIN_MS)) return []
    const lateMs = Number(atNs) / 1e6 - startMs
    const message = `It was the turn of ${claimId} for "${lock}" ${lateMs.toFixed(0)} ms before its client learned of it.`
    return [{ property: 'wake-up', key: lock, message }]
  })
}
