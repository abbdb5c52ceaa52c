/** Makes the faults of a case happen in a world, and ends all of them when it is time to heal. */
import type { Host } from '../server/host.js'
import type { Agenda } from '../world/agenda.js'
import { FAIR_WEATHER, type Link, type Weather } from '../world/link.js'
import type { MachineClock } from '../world/machine-clock.js'
import type { Fault, FaultKind, FaultOf } from './plan.js'

/** One of the places where a process runs: killed ones are replaced there. */
export interface Site {
  readonly clock: MachineClock
  readonly link: Link
  /** Whether a process is at work there: a fault does not strike what is struck already. */
  readonly runs: boolean
  stop(): void
  /** @param sleptSinceMs the true time at which the machine fell asleep, if it did */
  resume(sleptSinceMs?: number): void
  kill(): void
  /** Breaks the connections of the process, where it has any. */
  resetConnections?(): void
  /** Starts another process in place of a killed one. */
  revive(): void
}

export interface Stage {
  readonly agenda: Agenda
  readonly sites: readonly Site[]
  readonly server: Host
}

/** Enters all faults into the agenda. Returns what ends those that still last. */
export function arrange(stage: Stage, faults: readonly Fault[]): () => void {
  const open = new Set<() => void>()
  for (const fault of faults) {
    if (fault.kind === 'server-failover') {
      stage.agenda.at(fault.atMs - fault.losesMs, () => stage.server.copy())
    }
    stage.agenda.at(fault.atMs, () => {
      const undo = begin(stage, fault)
      if (!undo) return
      const end = (): void => {
        if (open.delete(end)) undo()
      }
      open.add(end)
      stage.agenda.after(fault.forMs, end)
    })
  }
  return () => {
    for (const end of [...open]) end()
  }
}

type Undo = () => void
type Begin = { readonly [Kind in FaultKind]: (stage: Stage, fault: FaultOf<Kind>) => Undo | undefined }

/** Begins a fault. Gives what ends it, for those that last. */
function begin(stage: Stage, fault: Fault): Undo | undefined {
  const beginIt = BEGIN[fault.kind] as (stage: Stage, fault: Fault) => Undo | undefined
  return beginIt(stage, fault)
}

const BEGIN: Begin = {
  storm: (stage, { loseRequest, loseReply, twice, loseWake, process }) =>
    changeWeather(siteOf(stage, process), { loseRequest, loseReply, twice, loseWake }),
  slow: (stage, { meanMs, process }) => changeWeather(siteOf(stage, process), { meanMs }),
  swell: (stage, { process, times }) => changeWeather(siteOf(stage, process), { swellsWakes: times }),
  cut(stage, { holds, process }) {
    const { link } = siteOf(stage, process)
    link.weather.cut = holds ? 'hold' : 'drop'
    return () => link.mend()
  },
  stop: (stage, { process }) => stopSite(siteOf(stage, process)),
  sleep: (stage, { process }) => putToSleep(stage.agenda, siteOf(stage, process)),
  kill: (stage, { process }) => killSite(siteOf(stage, process)),
  'clock-step'(stage, { process, byMs }) {
    siteOf(stage, process).clock.stepWall(byMs)
    return undefined
  },
  'server-stop'({ server }) {
    if (!server.runs) return undefined
    server.stop()
    return () => server.resume()
  },
  'server-crash'({ server }, { keepsData }) {
    if (!server.runs) return undefined
    server.crash()
    return () => server.boot(keepsData)
  },
  'server-flush'({ server }) {
    server.loseData()
    return undefined
  },
  'server-clock-step'({ server }, { byMs }) {
    server.clock.stepWall(byMs)
    return undefined
  },
  reset(stage, { process }) {
    siteOf(stage, process).resetConnections?.()
    return undefined
  },
  'server-failover'({ server }) {
    if (!server.runs) return undefined
    server.crash()
    return () => server.failOver()
  },
}

function siteOf({ sites }: Stage, process: number): Site {
  const site = sites[process]
  if (!site) throw new Error(`There is no process ${process}.`)
  return site
}

function changeWeather({ link }: Site, change: Partial<Weather>): () => void {
  Object.assign(link.weather, change)
  return () => {
    for (const name of Object.keys(change) as (keyof Weather)[]) {
      Object.assign(link.weather, { [name]: FAIR_WEATHER[name] })
    }
  }
}

function stopSite(site: Site): (() => void) | undefined {
  if (!site.runs) return undefined
  site.stop()
  return () => site.resume()
}

function putToSleep(agenda: Agenda, site: Site): (() => void) | undefined {
  if (!site.runs) return undefined
  const sinceMs = agenda.nowMs
  site.stop()
  site.clock.sleep()
  return () => {
    site.clock.wake()
    site.resume(sinceMs)
  }
}

function killSite(site: Site): (() => void) | undefined {
  if (!site.runs) return undefined
  site.kill()
  return () => site.revive()
}
