/** Makes the faults of a case happen in a world, and ends all of them when it is time to heal. */
import type { Host } from '../server/host.js'
import type { Agenda } from '../world/agenda.js'
import { USUAL_CONDITIONS, type Link, type LinkConditions } from '../world/link.js'
import type { MachineClock } from '../world/machine-clock.js'
import type { Fault, FaultKind, FaultOf } from './fault.js'

/** One of the places where a process runs: killed ones are replaced there. */
export interface Site {
  readonly clock: MachineClock
  /** Its ways to the servers, one for each. */
  readonly links: readonly Link[]
  /** Whether a process is at work there: a fault does not strike what is struck already. */
  readonly runs: boolean
  stop(): void
  /** @param sleptSinceMs the true time at which the machine fell asleep, if it did */
  resume(sleptSinceMs?: number): void
  kill(): void
  /** Breaks the connections of the process, where it has any: those to one server, or all. */
  resetConnections?(node?: number): void
  /** Blocks the event loop, where another thread renews. Returns what ends that. */
  block?(): () => void
  /** Ends the thread that renews, where there is one. */
  endThread?(): void
  /** Starts another process instead of a killed one. */
  revive(): void
}

export interface Stage {
  readonly agenda: Agenda
  readonly sites: readonly Site[]
  readonly servers: readonly Host[]
}

/** Enters all faults into the agenda. Returns what ends those that still last. */
export function arrange(stage: Stage, faults: readonly Fault[]): () => void {
  const open = new Set<() => void>()
  for (const fault of faults) {
    if (fault.kind === 'server-failover') {
      stage.agenda.at(fault.atMs - fault.losesMs, () => serverOf(stage, fault).copy())
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
type Begin = {
  readonly [Kind in FaultKind]: (stage: Stage, fault: FaultOf<Kind>) => Undo | undefined
}

/** Begins a fault. Gives what ends it, for those that last. */
function begin(stage: Stage, fault: Fault): Undo | undefined {
  const beginIt = BEGIN[fault.kind] as (stage: Stage, fault: Fault) => Undo | undefined
  return beginIt(stage, fault)
}

const BEGIN: Begin = {
  storm: (stage, { loseRequest, loseReply, twice, loseWake, ...where }) =>
    changeConditions(linksOf(stage, where), { loseRequest, loseReply, twice, loseWake }),
  slow: (stage, { meanMs, ...where }) => changeConditions(linksOf(stage, where), { meanMs }),
  swell: (stage, { times, process }) =>
    changeConditions(linksOf(stage, { process }), { swellsWakes: times }),
  lag: (stage, { lagMs, process }) => changeConditions(linksOf(stage, { process }), { lagMs }),
  cut(stage, { holds, ...where }) {
    const links = linksOf(stage, where)
    for (const { conditions } of links) conditions.cut = holds ? 'hold' : 'drop'
    return () => {
      for (const link of links) link.mend()
    }
  },
  stop: (stage, { process }) => stopSite(siteOf(stage, process)),
  sleep: (stage, { process }) => putToSleep(stage.agenda, siteOf(stage, process)),
  block(stage, { process }) {
    const site = siteOf(stage, process)
    return site.runs ? site.block?.() : undefined
  },
  'thread-end'(stage, { process }) {
    siteOf(stage, process).endThread?.()
    return undefined
  },
  kill: (stage, { process }) => killSite(siteOf(stage, process)),
  'clock-step'(stage, { process, byMs }) {
    siteOf(stage, process).clock.stepWall(byMs)
    return undefined
  },
  'server-stop'(stage, fault) {
    const server = serverOf(stage, fault)
    if (!server.runs) return undefined
    server.stop()
    return () => server.resume()
  },
  'server-crash'(stage, { keepsData, ...where }) {
    const server = serverOf(stage, where)
    if (!server.runs) return undefined
    server.crash()
    return () => server.boot(keepsData)
  },
  'server-flush'(stage, fault) {
    serverOf(stage, fault).loseData()
    return undefined
  },
  'server-clock-step'(stage, { byMs, ...where }) {
    serverOf(stage, where).clock.stepWall(byMs)
    return undefined
  },
  reset(stage, { process, node }) {
    siteOf(stage, process).resetConnections?.(node)
    return undefined
  },
  'server-failover'(stage, fault) {
    const server = serverOf(stage, fault)
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

function linksOf(
  stage: Stage,
  { process, node }: { process: number; node?: number },
): readonly Link[] {
  const { links } = siteOf(stage, process)
  return node === undefined ? links : links.filter((_, index) => index === node)
}

function serverOf({ servers }: Stage, { node = 0 }: { node?: number }): Host {
  const server = servers[node]
  if (!server) throw new Error(`There is no server ${node}.`)
  return server
}

function changeConditions(links: readonly Link[], change: Partial<LinkConditions>): () => void {
  for (const { conditions } of links) Object.assign(conditions, change)
  return () => {
    for (const name of Object.keys(change) as (keyof LinkConditions)[]) {
      for (const { conditions } of links)
        Object.assign(conditions, { [name]: USUAL_CONDITIONS[name] })
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
