/**
 * Judges a run: the published checkers, and what only the conductor can see; a verdict for each
 * promise.
 */
import {
  checkHistory,
  storyOf,
  type HistoryEvent,
  type Promised,
  type Violation,
} from '@holdfast/conformance'
import type { AnyProperty } from '../command-line/promised.js'
import { PROPERTY_NAMES, waivers, type Property } from '../promised.js'
import type { Note } from '../protocol.js'
import type { Outcome, RunOptions } from '../run/run.js'
import type { Ghost } from '../run/ghosts.js'
import { storeOf } from '@holdfast/stores'
import { renewedAfterLoss } from './renewed-after-loss.js'
import type { Finding, Judgement, Verdict } from './judgement.js'
import { announcementsOf, blocksOf } from './announcements.js'
import { adoptedTwice, countAdoptions, withoutSharedHeirs } from './adoptions.js'
import { overtakenWrites } from './overtaken-writes.js'

/** What a checker is asked for; what of it was promised is decided afterwards. */
const ALL = { exclusion: true, held: true, release: true } as const
const NOTHING_ELSE = { exclusion: false } as const

/** What the checkers call a violation, and which promise it breaks. */
const PROPERTY_OF: Readonly<Record<string, Property>> = {
  exclusion: 'exclusion',
  capacity: 'exclusion',
  'token-unique': 'tokens',
  'token-order': 'tokens',
  'grant-order': 'tokens',
  held: 'held',
  release: 'release',
  liveness: 'liveness',
  fence: 'counter',
  increments: 'counter',
}

export function judge(
  options: Pick<RunOptions, 'store' | 'subject' | 'kinds'>,
  outcome: Outcome,
): Judgement {
  const { store } = options
  const { events, healedNs, watchedNs, notes, chronicle } = outcome
  const { boundMs } = storeOf(store).torture
  // Other locks than Holdfast's may have none.
  const fenced =
    storeOf(store).torture.fenced &&
    events.some(({ f, type, token }) => isGrant(f, type) && token !== undefined)
  const waived = new Map(
    waivers(store, options.kinds, fenced).map(({ property, because }) => [
      property as AnyProperty,
      because,
    ]),
  )
  const liveness = { healedNs, boundNs: BigInt(boundMs) * 1_000_000n, watchedNs }
  const story = storyOf(events)
  const found: Omit<Finding, 'promised'>[] = [
    ...checked(events, liveness),
    ...adoptedTwice(events),
    ...renewedAfterLoss(story.holds, events, chronicle.losses, storeOf(store).torture.ttlMs),
    ...(fenced ? overtakenWrites(story.holds, events) : []),
    ...notes.flatMap((note) =>
      note.note === 'breach' ? [plain(note.property as Property, note.message, note.key)] : [],
    ),
    ...outcome.ghosts.map((ghost) => plain('ghost', describeGhost(ghost, notes), ghost.key)),
    ...chronicle.troubles.map(({ property, message }) => plain(property, message, '')),
  ]
  const findings = found.map((one) => ({ ...one, promised: !waived.has(one.property) }))
  const waits = [...story.holds.map(({ invokedNs, startNs }) => [invokedNs, startNs] as const)]
  const drainNs = waits.reduce((longest, [invoked, start]) => {
    const since = invoked > healedNs ? invoked : healedNs
    return start - since > longest ? start - since : longest
  }, 0n)
  return {
    verdicts: PROPERTY_NAMES.map((property) =>
      verdictOf(property, findings, waived.get(property), { ...options, fenced }),
    ),
    findings,
    announcements: announcementsOf(notes, [...chronicle.stops, ...blocksOf(notes)]),
    operations: events.filter(({ type }) => type === 'invoke').length,
    leases: story.holds.length,
    adoptions: countAdoptions(events),
    losses: notes.filter(({ note }) => note === 'loss').length,
    drainMs: Number(drainNs) / 1e6,
  }
}

/** What the published checkers find. */
function checked(
  events: readonly HistoryEvent[],
  liveness: NonNullable<Promised['liveness']>,
): Omit<Finding, 'promised'>[] {
  return [
    ...checkHistory(events, { promised: { ...ALL, tokens: false, counter: true, liveness } }),
    ...checkHistory(withoutSharedHeirs(events), { promised: { ...NOTHING_ELSE, tokens: true } }),
  ].map(named)
}

export function describeGhost({ key, claim, pid, waits }: Ghost, notes: readonly Note[]): string {
  const failure = notes.find((note) => note.note === 'background' && note.claim === claim)
  const why =
    failure?.note === 'background' ? ` During the ${failure.during} of it: ${failure.error}` : ''
  const state = waits ? 'waited for' : 'held'
  return `"${key}" is still ${state} by claim ${claim} of process ${pid}, which gave everything back.${why}`
}

function named({ property: kind, key, message, events }: Violation): Omit<Finding, 'promised'> {
  return { property: PROPERTY_OF[kind] ?? 'error', kind, key, message, events }
}

function plain(property: Property, message: string, key: string): Omit<Finding, 'promised'> {
  return { property, kind: property, key, message, events: [] }
}

function verdictOf(
  property: Property,
  findings: readonly Finding[],
  because: string | undefined,
  seen: Sight,
): Verdict {
  const violations = findings.filter((finding) => finding.property === property).length
  if (because !== undefined) return { property, outcome: 'waived', violations, because }
  const blind = violations === 0 && !canBeSeen(property, seen)
  return { property, outcome: violations > 0 ? 'broken' : blind ? 'none' : 'kept', violations }
}

interface Sight {
  readonly store: RunOptions['store']
  readonly subject: RunOptions['subject']
  readonly kinds: RunOptions['kinds']
  readonly fenced: boolean
}

function canBeSeen(property: Property, { store, subject, kinds, fenced }: Sight): boolean {
  if (property === 'tokens') return fenced
  if (property === 'kept') return kinds.every((kind) => kind === 'block') && kinds.length > 0
  if (property === 'ghost')
    return subject === 'holdfast' && store !== 'memory' && storeOf(store).torture.inspects
  if (property === 'held' || property === 'loss-announced' || property === 'forgotten')
    return subject === 'holdfast'
  return true
}

function isGrant(f: string, type: string): boolean {
  return f === 'acquire' && type === 'ok'
}
