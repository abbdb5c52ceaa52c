/**
 * Runs one case, from the first event to the last, and hands back all that there is to judge it by.
 */
import type { HistoryEvent } from '@holdfast/conformance'
import { isLockError } from 'holdfast'
import type { Case } from './case.js'
import { arrange } from './faults/apply.js'
import { realRuntime, type Runtime } from './runtime.js'
import { keepsEntries, makeService } from './server/models.js'
import type { TokenMark } from './redlock/token-log.js'
import type { ServerHold } from './server/truth.js'
import { findLeaks } from './leaks.js'
import { Site, type Ground } from './site.js'
import type { Breach } from './workload/circumstances.js'
import { Chronicle } from './workload/chronicle.js'
import { Claimants } from './workload/claimants.js'
import { FencedCounters } from './workload/fenced-counter.js'
import { HandOvers, type Exported } from './workload/hand-overs.js'
import { Agenda } from './world/agenda.js'
import { MachineClock } from './world/machine-clock.js'
import { drawMoments } from './world/moments.js'

/**
 * After arrivals stopped and faults healed, every waiter must be served within this time.
 */
const DRAIN_MS = 4000
/** Entries of a dead client go with its session, which lives longer than its TTL. */
const SESSION_SPARE_MS = 3000
/** Closing the clients after that takes no longer than this. */
const CLOSE_MS = 6000
/**
 * What is on its way by then has arrived after this time: the slowest message takes three seconds.
 */
const IN_FLIGHT_MS = 4000
/** More events than this, and something goes round in circles. */
const MOST_EVENTS = 500_000

/** An actor that was still waiting for a lock when every waiter should have been served. */
export interface Stuck {
  readonly actor: string
  readonly lock: string
}

export interface Outcome {
  readonly events: readonly HistoryEvent[]
  readonly serverHolds: readonly ServerHold[]
  /** Granted although they had been withdrawn. */
  readonly risen: readonly ServerHold[]
  /**
   * What the server held when all clients had released all they had, and no withdrawal in flight
   * has released.
   */
  readonly leftOver: readonly ServerHold[]
  /** The tokens that each server of Redlock voted with and sealed. */
  readonly tokenLogs: readonly (readonly TokenMark[])[]
  /** What clients left behind in the queues of the service, though they held and wanted nothing. */
  readonly leaked: readonly string[]
  readonly counters: FencedCounters
  readonly claimants: Claimants
  /** Whose lease each caller that adopts was to get. */
  readonly heirs: ReadonlyMap<string, Exported>
  readonly stuck: readonly Stuck[]
  /** What the actors saw broken. */
  readonly breaches: readonly Breach[]
  /** How long it took from healing until every waiter was served. */
  readonly drainedMs: number
  readonly steps: number
}

export async function runCase(plan: Case, runtime: Runtime = realRuntime): Promise<Outcome> {
  const { ground, sites, circumstances, breaches } = prepare(plan, runtime)
  const { agenda, server, chronicle } = ground
  const stopListening = listen(ground, sites)
  const heal = arrange({ agenda, sites, servers: server.hosts }, plan.faults)

  const exhausted = (): boolean => agenda.fired > MOST_EVENTS
  const idle = (): boolean => sites.every(({ busy }) => busy.length === 0)
  await agenda.run(plan.durationMs, exhausted)
  circumstances.closing = true
  heal()
  await agenda.run(plan.durationMs + drainMs(plan), () => exhausted() || idle())
  const drainedMs = agenda.nowMs - plan.durationMs
  const stuck = sites.flatMap((site) => stuckActors(site, chronicle.events))
  const leaked = server.entriesOf ? await findLeaks(ground, sites, exhausted) : []
  await closeAll(agenda, sites, exhausted)
  const closedMs = agenda.nowMs
  await agenda.run(closedMs + IN_FLIGHT_MS, exhausted)
  stopListening()
  return {
    events: chronicle.events,
    serverHolds: server.truth.all,
    risen: server.truth.risen,
    leftOver: leftOver(ground, sites, closedMs),
    tokenLogs: server.tokenLogs ?? [],
    leaked,
    counters: ground.counters,
    claimants: ground.claimants,
    heirs: ground.handOvers.byHeir,
    stuck,
    breaches,
    drainedMs,
    steps: agenda.fired,
  }
}

function drainMs({ store, ttlMs }: Case): number {
  return keepsEntries(store) ? DRAIN_MS + ttlMs + SESSION_SPARE_MS : DRAIN_MS
}

/** A case before its first event. */
interface Prepared {
  readonly ground: Ground
  readonly sites: readonly Site[]
  readonly circumstances: { closing: boolean }
  readonly breaches: readonly Breach[]
}

/** Makes the service and the processes of a case. */
function prepare(plan: Case, runtime: Runtime): Prepared {
  const agenda = new Agenda(drawMoments(plan.seed))
  const clocks = plan.serverClocks.map((errors) => new MachineClock(agenda, errors))
  const breaches: Breach[] = []
  const circumstances = { closing: false, breach: (breach: Breach) => void breaches.push(breach) }
  const ground: Ground = {
    plan,
    runtime,
    agenda,
    server: makeService(plan, agenda, clocks, runtime),
    chronicle: new Chronicle(agenda),
    counters: new FencedCounters(),
    circumstances,
    claimants: new Claimants(),
    handOvers: new HandOvers(agenda, (name, exported, heir) =>
      sites[heir.process]?.adopt(name, exported, heir),
    ),
    nextPid: 100,
  }
  const sites: Site[] = plan.clocks.map((errors, index) => new Site(ground, index, errors))
  return { ground, sites, circumstances, breaches }
}

/** What the server still holds for clients that live, and that none of them exported. */
function leftOver(
  { server, claimants }: Ground,
  sites: readonly Site[],
  closedMs: number,
): ServerHold[] {
  const living = new Set(sites.map(({ client }) => client.locks.clientId))
  const holds = server.truth.leftOver(closedMs)
  return holds.filter((hold) => living.has(hold.clientId) && !claimants.exported.has(hold.claimId))
}

/**
 * Follows the renewals, the queueing and the defects of all clients, which only the runtime's
 * events report. The deadlocks run without a subscriber.
 */
function listen(
  { runtime, chronicle, claimants, circumstances }: Ground,
  sites: readonly Site[],
): () => void {
  const siteOf = (clientId: string): Site | undefined =>
    sites.find(({ client }) => client.locks.clientId === clientId)
  const stopRenewed = runtime.onLockEvent('renewed', ({ clientId, claimId }) => {
    siteOf(clientId)?.client.renewed(claimId)
  })
  const stopLost = runtime.onLockEvent('lost', ({ claimId }) => void claimants.lost.add(claimId))
  const stopQueued = runtime.onLockEvent('queued', ({ clientId, claimId, lock }) => {
    const site = siteOf(clientId)
    const asker = claimants.of(claimId)
    if (site && asker) {
      chronicle.note(site.process.pid, asker.actor, {
        f: 'enqueued',
        type: 'info',
        key: lock,
        claim: claimId,
      })
    }
  })
  const stopError = runtime.onLockEvent('error', ({ lock: key, error }) => {
    if (isLockError(error) && error.code === 'INTERNAL')
      circumstances.breach({ property: 'error', key, message: error.message })
  })
  return () => {
    stopRenewed()
    stopLost()
    stopQueued()
    stopError()
  }
}

function stuckActors(site: Site, events: readonly HistoryEvent[]): Stuck[] {
  return site.busy.map((name) => {
    const last = events.findLast(
      ({ client, f, type }) => client === name && f === 'acquire' && type === 'invoke',
    )
    return { actor: name, lock: last?.key ?? '' }
  })
}

async function closeAll(
  agenda: Agenda,
  sites: readonly Site[],
  exhausted: () => boolean,
): Promise<void> {
  let open = 0
  for (const { client } of sites) {
    open += 1
    const close = (): void => void (open -= 1)
    client.locks.close({ graceMs: 0 }).then(close, close)
  }
  await agenda.run(agenda.nowMs + CLOSE_MS, () => exhausted() || open === 0)
}
