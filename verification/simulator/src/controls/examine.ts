/** Runs a control through a case, and judges it by what a lock on one Redis can promise. */
import type { Control } from '@holdfast/broken-locks'
import { checkHistory, type HistoryEvent } from '@holdfast/conformance'
import { arrange } from '../faults/apply.js'
import { firstLossMs } from '../faults/fault.js'
import { exclusionFindings, type Finding } from '../judge/judge.js'
import { longWaits } from '../scenarios/build.js'
import { Chronicle } from '../workload/chronicle.js'
import { FencedCounters } from '../workload/fenced-counter.js'
import { Agenda } from '../world/agenda.js'
import { MachineClock } from '../world/machine-clock.js'
import { drawMoments } from '../world/moments.js'
import type { ControlCase } from './case.js'
import { RedisServer } from './redis-server.js'
import { ControlSite, LOCK, type ControlGround } from './site.js'

/**
 * After arrivals stopped and faults healed, every waiter must be served within this time.
 */
const DRAIN_MS = 5000
const MOST_EVENTS = 200_000

export interface ControlOutcome {
  readonly events: readonly HistoryEvent[]
  readonly findings: readonly Finding[]
}

export async function examineControl(
  create: Control['create'],
  plan: ControlCase,
): Promise<ControlOutcome> {
  const agenda = new Agenda(drawMoments(plan.seed))
  const server = new RedisServer(agenda, new MachineClock(agenda, plan.serverClock))
  const circumstances = { closing: false, breach: () => undefined }
  const chronicle = new Chronicle(agenda)
  const counters = new FencedCounters()
  const ground: ControlGround = {
    plan,
    create,
    agenda,
    server,
    chronicle,
    counters,
    circumstances,
    nextPid: 100,
  }
  const sites = plan.scripts.map((_, index) => new ControlSite(ground, index))
  const heal = arrange({ agenda, sites, servers: [server.host] }, plan.faults)
  const exhausted = (): boolean => agenda.fired > MOST_EVENTS
  await agenda.run(plan.durationMs, exhausted)
  circumstances.closing = true
  heal()
  await agenda.run(plan.durationMs + DRAIN_MS, () => exhausted() || sites.every(({ done }) => done))
  const stuck = sites.filter(({ done }) => !done).map(({ name }) => forgotten(name))
  const { events } = chronicle
  const promised = { exclusion: false, tokens: true, held: true, release: true, counter: true }
  const findings = [
    ...exclusionFindings(events, firstLossMs(plan.faults)),
    ...checkHistory(events, { promised }),
    ...longWaits(plan, events),
    ...stuck,
  ]
  return { events, findings }
}

function forgotten(name: string): Finding {
  const message = `${name} still waited for the lock ${DRAIN_MS} ms after everything was healed.`
  return { property: 'liveness', key: LOCK, message }
}
