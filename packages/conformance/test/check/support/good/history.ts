/**
 * A lock that keeps every promise, in virtual time from a seed, and its history. The history has
 * the server's truth, renewals, holders that sleep through their lease, kills, downgrades,
 * hand-offs inside a process, and a fenced counter.
 *
 * It is not a copy of the runtime. It is plain, so that a reader can see that it is right.
 */
import { type HistoryEvent } from '@holdfast/conformance'
import { SeededRandom } from 'holdfast/testing'
import { Agenda } from './agenda.js'
import { Client } from './client.js'
import { Cohort } from './cohort.js'
import { Counter, Server, TTL_NS } from './server.js'
import type { GoodLockOptions, World } from './world.js'

const LATENCY_NS = 400_000

export async function goodHistory(options: GoodLockOptions): Promise<HistoryEvent[]> {
  const random = new SeededRandom(options.seed)
  const agenda = new Agenda()
  const events: HistoryEvent[] = []
  const upTo = (mostNs: number): number => Math.floor(random.next() * mostNs)
  const world: World = {
    options,
    agenda,
    server: new Server(agenda, options.capacity),
    counter: new Counter(),
    upTo,
    latencyNs: () => 1 + upTo(LATENCY_NS),
    happens: (probability) => random.next() < probability,
    note: (pid, client, note) => {
      events.push({ t_ns: BigInt(agenda.nowNs), pid, client, key: 'lock', ...note })
    },
  }
  for (let pid = 1; pid <= options.processes; pid += 1) startProcess(world, pid)
  await agenda.run()
  for (const truth of world.server.truth) world.note(0, 'server', truth)
  return events
}

function startProcess(world: World, pid: number): void {
  const cohort = new Cohort(world)
  const { weights, faults } = world.options
  const clients = weights.map((weight, at) => new Client(world, pid, `c${at}`, weight, cohort))
  for (const client of clients) void client.run()
  if (!faults || !world.happens(0.3)) return
  world.agenda.after(world.upTo(5 * TTL_NS), () => {
    world.note(pid, 'suite', { f: 'kill', type: 'info' })
    for (const client of clients) client.alive = false
  })
}
