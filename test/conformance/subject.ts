/** A store as a subject of the conformance suite, by its descriptor. */
import { join } from 'node:path'
import { conformanceSuite, type Skip, type Subject } from '@holdfast/conformance'
import { storeOf } from '@holdfast/stores'
import { closing } from '@holdfast/stores/closing'
import type {
  OpenOptions,
  ReusedClients,
  RunningService,
  StoreService,
} from '@holdfast/stores/descriptor'
import { loadModule } from '@holdfast/stores/load'
import { afterAll } from 'vitest'
import { killRounds, raceCount, serverKillRounds } from '../support/plan.js'
import { runner, SHORT_TTL_MS, SLACK_MS } from './runner.js'

interface SuiteOptions {
  /** The client library, where the store has several. */
  readonly library?: string
  /** How many servers there are. */
  readonly members?: number
  /** What is left out beside what the store leaves out, and why. */
  readonly skip?: readonly Skip[]
}

/** Runs the suite over the store, killed processes included. */
export async function suiteOver(name: string, options?: SuiteOptions): Promise<void> {
  const { subject } = await subjectOver(name, options)
  conformanceSuite(subject, runner)
}

/** Starts the service of the store, and ends it after all tests of the file. */
export async function subjectOver(
  name: string,
  { library, members, skip = [] }: SuiteOptions = {},
): Promise<{ readonly subject: Subject; readonly running: RunningService }> {
  const { service, suite, torture } = storeOf(name)
  const servers = members ?? suite.members
  const running = await service.start({ crowded: true, ...(servers ? { members: servers } : {}) })
  const { at } = running
  const used = library ?? service.libraries.daily[0]
  const options = { library: used, load: loadModule, crowded: true }
  const clients = await (suite.reuse ?? ownClients(service))(at, options)
  const probe = await clients.open()
  afterAll(async () => {
    await probe.close()
    clients.endAll()
    await running.remove()
  })
  const { restart = () => running.down().then(running.up) } = running
  const subject: Subject = {
    name: [name, used && `through ${used}`, members && `with ${members} members`]
      .filter(Boolean)
      .join(' '),
    traits: probe.traits,
    open: () => clients.open(),
    async restart() {
      clients.forgetIdle()
      await restart()
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, 'worker.mjs'), name, used ?? '', ...at],
    },
    shortTtlMs: (suite.shortTtls ?? 1) * SHORT_TTL_MS,
    slackMs: SLACK_MS,
    killRounds: killsOf(torture.servers, suite.kills),
    races: raceCount(),
    atomicVerbs: suite.atomicVerbs ?? true,
    skip: [...(suite.skip ?? []), ...skip],
  }
  return { subject, running }
}

function killsOf(servers: number, part = 1): number {
  return servers === 0 ? killRounds() : Math.ceil(serverKillRounds() * part)
}

/** Each store has clients of its own, and closes them. */
function ownClients(service: StoreService) {
  return async (at: readonly string[], options: OpenOptions): Promise<ReusedClients> => {
    const ends = new Set<() => unknown>()
    return {
      async open() {
        const { store, ready, end } = await service.open(at, options)
        ends.add(end)
        // Connected, since cases with a short request timeout must not wait for the connection.
        await ready?.()
        return closing(store, () => {
          ends.delete(end)
          return end()
        })
      },
      forgetIdle: () => undefined,
      endAll() {
        for (const end of ends) void end()
      },
    }
  }
}
