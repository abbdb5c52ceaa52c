/** Judges a run by what was promised under its faults. */
import { checkHistory, type HistoryEvent, type Promised } from '@holdfast/conformance'
import type { Case } from '../case.js'
import { keepsEntries } from '../server/models.js'
import type { Outcome } from '../run.js'
import type { ServerHold } from '../server/truth.js'
import { nanoseconds } from '../workload/chronicle.js'
import { STRICT } from '@holdfast/workload'
import type { Finding } from './finding.js'
import { promisesOf } from './promises.js'
import { tokenFindings } from './redlock-tokens.js'
import { lateWakeUps } from './wake-ups.js'

export type { Finding } from './finding.js'

/** Times are converted between clocks and cut to whole nanoseconds. */
const SLACK = { slackNs: 1000n }
/** A row of hand-offs is timed by the clock of its process, which may be slow. */
const ROW_SLACK_NS = 100_000n
/** What a server that forgets or whose clock jumps cannot promise. */
const NEEDS_EXCLUSION = new Set(['regained', 'adopted-twice', 'adoption-refused'])
const NOTHING_ELSE = { exclusion: false, tokens: false }

export function judge(plan: Case, outcome: Outcome): Finding[] {
  const { exclusionUntilMs, exclusion, release, tokens, order, liveness } = promisesOf(plan)
  const history = [...outcome.events, ...outcome.serverHolds.map(truthEvent)]
  const promised: Promised = {
    exclusion: false,
    tokens: false,
    held: true,
    truth: exclusion && SLACK,
    release: release && SLACK,
  }
  const ordered = keepsEntries(plan.store) ? withoutSharedHeirs(outcome) : outcome.events
  return [
    ...exclusionFindings(outcome.events, exclusionUntilMs, false),
    ...checkHistory(history, { promised }),
    // Where two may hold at once, their times do not show the order of their grants.
    ...checkHistory(ordered, { promised: { exclusion: false, tokens } }).filter(
      ({ property }) => exclusion || property !== 'grant-order',
    ),
    ...checkHistory(outcome.events, { promised: { ...NOTHING_ELSE, counter: tokens } }),
    ...overtakings(outcome, order),
    ...(liveness ? forgotten(outcome) : []),
    ...(exclusion ? outcome.risen.map(risen) : []),
    ...(liveness ? outcome.leftOver.map(leftOver) : []),
    ...outcome.leaked.map(leaked),
    ...(plan.faults.length === 0 && keepsEntries(plan.store) ? lateWakeUps(outcome) : []),
    ...tokenFindings(outcome.events, outcome.tokenLogs),
    ...outcome.breaches.filter(({ property }) => exclusion || !NEEDS_EXCLUSION.has(property)),
  ]
}

/** Finds two holders at a time before the server lost its data: nothing is promised after that. */
export function exclusionFindings(
  events: readonly HistoryEvent[],
  untilMs: number,
  tokens = true,
): Finding[] {
  if (untilMs === 0) return []
  const before =
    untilMs === Infinity ? events : events.filter(({ t_ns }) => t_ns < nanoseconds(untilMs))
  return checkHistory(before, {
    promised: { exclusion: true, tokens: tokens && untilMs < Infinity },
  })
}

/**
 * An adopter at a coordination service has a token of the entry's own block. Readers and permits
 * beside it may have larger ones.
 */
function withoutSharedHeirs({ events, heirs }: Outcome): HistoryEvent[] {
  const shared = new Set(
    events.flatMap(({ client, mode }) => (heirs.has(client) && mode === 'shared' ? client : [])),
  )
  return events.filter(({ client }) => !shared.has(client))
}

function truthEvent(hold: ServerHold): HistoryEvent {
  return {
    t_ns: nanoseconds(hold.endMs),
    pid: 0,
    client: 'server',
    key: hold.lock,
    f: 'truth',
    type: 'info',
    owner: hold.claimId,
    weight: hold.weight,
    start_ns: nanoseconds(hold.startMs),
    end_ns: nanoseconds(hold.endMs),
    ...(hold.token === undefined ? {} : { token: hold.token, tokens: hold.tokens }),
  }
}

/**
 * Claims of their own are served strictly in order, and so is a strict lock in any case. A lease
 * that is handed on inside a cohort may overtake. A row of them is bound in either.
 */
function overtakings(outcome: Outcome, inOrder: boolean): Finding[] {
  const { claimants, serverHolds, heirs } = outcome
  // An heir takes the place of a holder.
  const events = outcome.events.filter(({ client }) => !heirs.has(client))
  const mayPass = ({ f, type, key, mode, token, claim = '', client }: HistoryEvent): boolean => {
    if (f !== 'acquire' || type !== 'ok' || key === STRICT) return false
    // A reader or permit may get the grant of another caller's claim, which is heard of first.
    const isSwapped = mode === 'shared' && !claimants.hasMade(client, claim)
    return isSwapped || !claimants.isOwn(claim, token)
  }
  const granted = new Set(serverHolds.map(({ claimId }) => claimId))
  const ordered = inOrder ? withoutWaits(events, mayPass, granted) : []
  const unordered = events.filter(({ f }) => f !== 'enqueued')
  return [
    ...checkHistory(ordered, {
      promised: { ...NOTHING_ELSE, fifo: { inARow: 0, slackNs: ROW_SLACK_NS } },
    }),
    ...checkHistory(unordered, { promised: { ...NOTHING_ELSE, fifo: { slackNs: ROW_SLACK_NS } } }),
  ]
}

/**
 * Returns the events without the grants that are named, and without the places in the queue that
 * those callers had. A place also ends when the server grants its claim. If that grant is stolen or
 * lost before it is handed out, the caller queues again behind the others, with another claim.
 */
function withoutWaits(
  events: readonly HistoryEvent[],
  leftOut: (event: HistoryEvent) => boolean,
  granted: ReadonlySet<string>,
): HistoryEvent[] {
  const kept = new Set(events)
  const places = new Map<string, HistoryEvent>()
  for (const event of events) {
    const { pid, client, key, f, type } = event
    const caller = `${pid} ${client} ${key}`
    if (f === 'enqueued') places.set(caller, event)
    if (f !== 'acquire') continue
    const place = places.get(caller)
    places.delete(caller)
    const isLeftOut = type === 'ok' && leftOut(event)
    if (isLeftOut) kept.delete(event)
    const isPlaceUsed = place?.claim !== event.claim && granted.has(place?.claim ?? '')
    if (place && (isLeftOut || isPlaceUsed)) kept.delete(place)
  }
  return [...kept]
}

function risen({ lock, claimId, startMs }: ServerHold): Finding {
  const message = `"${lock}" was granted to ${claimId} at ${startMs.toFixed(3)} ms, after that claim had been withdrawn.`
  return { property: 'tombstone', key: lock, message }
}

function leftOver({ lock, claimId, startMs }: ServerHold): Finding {
  const message =
    `"${lock}" was granted to ${claimId} at ${startMs.toFixed(3)} ms, and is held still, ` +
    'though every client has released all that it had.'
  return { property: 'ghost', key: lock, message }
}

function leaked(entry: string): Finding {
  const message = `${entry} is there still, though its client holds and wants nothing.`
  return { property: 'leak', key: '', message }
}

function forgotten({ stuck, drainedMs }: Outcome): Finding[] {
  return stuck.map(({ actor, lock }) => ({
    property: 'liveness',
    key: lock,
    message: `${actor} still waited for "${lock}" ${drainedMs.toFixed(0)} ms after everything was healed.`,
  }))
}
