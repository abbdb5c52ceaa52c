/**
 * Runs processes of the previous version beside those of this one, on every store: they exclude
 * each other. The memory store has no part in it, since it serves one process.
 */
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  checkHistory,
  afterLastEvents,
  parseHistory,
  type HistoryEvent,
} from '@holdfast/conformance'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { withTimeout } from 'holdfast/internal'
import { buildPrevious } from './previous.js'
import { VersionProcess, type Answer, type Contender, type LockRequest } from './process.js'
import { STORES, type Service, type StoreBeside } from './stores.js'

const VERSIONS = ['old', 'new'] as const
type Version = (typeof VERSIONS)[number]

const ORDERS: readonly (readonly [Version, Version])[] = [
  ['old', 'new'],
  ['new', 'old'],
]

const WORKER = 'worker.mjs'
const previous = await buildPrevious()
await copyFile(join(import.meta.dirname, WORKER), join(previous.folder, WORKER))
console.log(`Beside this version runs ${previous.version}.`)
const FOLDERS = { old: previous.folder, new: import.meta.dirname }

afterAll(() => previous.remove())

/** How long an answer may take on a busy machine, without waiting for another process. */
const SOON_MS = 15_000

test.skip('memory: it serves one process, in which there is one version')

describe.each(STORES)('$name', (store) => {
  let service: Service
  const running: VersionProcess[] = []
  let names = 0
  beforeAll(async () => {
    service = await store.start()
  }, 60_000)
  afterEach(async () => {
    for (const process of running.splice(0)) await process.kill()
  })
  afterAll(() => service.stop())

  const start = (version: Version): VersionProcess => {
    const folder = FOLDERS[version]
    const process = new VersionProcess(folder, join(folder, WORKER), service.args)
    running.push(process)
    return process
  }
  const lockOf = (kind: LockRequest['kind'], name: string, fairness?: 'fifo'): LockRequest => ({
    kind,
    name,
    ttlMs: store.ttlMs,
    ...(fairness ? { fairness } : {}),
  })
  const freshName = (what: string): string => `${what} ${(names += 1)}`

  test.each(ORDERS)(
    '%s holder, %s waiter: hand-offs, and a holder that is killed',
    async (first, second) => {
      const [one, other] = [start(first), start(second)]
      for (const pair of pairsOf(store)) await handOff(one, other, pair)
      await outlive(one, other)
    },
  )

  test('contention with kills keeps every promise', async () => contest(), 90_000)

  interface Pair {
    readonly held: LockRequest
    readonly wanted: LockRequest
    /** How many leases of `held` leave no room. */
    readonly full: number
  }

  function pair(
    held: LockRequest['kind'],
    wanted: LockRequest['kind'],
    full = 1,
    fairness?: 'fifo',
  ): Pair {
    const name = freshName(`${held} then ${wanted}`)
    return { held: lockOf(held, name, fairness), wanted: lockOf(wanted, name, fairness), full }
  }

  function pairsOf({ kinds }: StoreBeside): Pair[] {
    const has = (kind: LockRequest['kind']): boolean => kinds.includes(kind)
    return [
      pair('mutex', 'mutex'),
      pair('mutex', 'mutex', 1, 'fifo'),
      ...(has('reader')
        ? [pair('writer', 'reader'), pair('reader', 'writer'), pair('writer', 'writer')]
        : []),
      ...(has('semaphore') ? [pair('semaphore', 'semaphore', 2)] : []),
    ]
  }

  /**
   * One process holds. The other is refused, waits, and is granted when the first releases.
   */
  async function handOff(
    one: VersionProcess,
    other: VersionProcess,
    { held, wanted, full }: Pair,
  ): Promise<void> {
    const waitMs = SOON_MS
    const tokens: bigint[] = []
    for (let index = 0; index < full; index += 1) {
      const answer = await soon(one.ask({ ask: 'acquire', as: `${index}`, lock: held, waitMs }))
      expect(answer).toMatchObject({ held: true })
      if (answer.token !== undefined) tokens.push(BigInt(answer.token))
    }
    const busy = await soon(other.ask({ ask: 'acquire', as: 'early', lock: wanted, waitMs: 0 }))
    expect(busy).toMatchObject({ code: 'LOCK_TIMEOUT' })
    const waiting = other.ask({ ask: 'acquire', as: 'late', lock: wanted, waitMs })
    // Long enough for most that it stands in the queue, and is granted from there. Sooner is right
    // as well.
    await pass(150)
    expect(await soon(one.ask({ ask: 'release', as: '0' }))).toEqual({ outcome: 'released' })
    const next = await soon(waiting)
    expect(next).toMatchObject({ held: true })
    if (next.token !== undefined)
      for (const token of tokens) expect(BigInt(next.token)).toBeGreaterThan(token)
    // Both ways in one pair: the first one is the waiter now.
    const again = one.ask({ ask: 'acquire', as: 'again', lock: held, waitMs })
    await pass(150)
    expect(await soon(other.ask({ ask: 'release', as: 'late' }))).toMatchObject({
      outcome: 'released',
    })
    expect(await soon(again)).toMatchObject({ held: true })
    for (const as of ['again', ...tokens.slice(1).map((_, index) => `${index + 1}`)]) {
      expect(await soon(one.ask({ ask: 'release', as }))).toMatchObject({ outcome: 'released' })
    }
  }

  /** A killed holder keeps the lock for its TTL, and not longer. */
  async function outlive(one: VersionProcess, other: VersionProcess): Promise<void> {
    const lock = lockOf('mutex', freshName('killed'))
    expect(await soon(one.ask({ ask: 'acquire', as: 'it', lock, waitMs: SOON_MS }))).toMatchObject({
      held: true,
    })
    const waiting = other.ask({ ask: 'acquire', as: 'it', lock, waitMs: SOON_MS })
    await one.kill()
    expect(await soon(waiting)).toMatchObject({ held: true })
    expect(await soon(other.ask({ ask: 'release', as: 'it' }))).toMatchObject({
      outcome: 'released',
    })
  }

  interface Contest {
    readonly contender: (version: Version) => Promise<VersionProcess>
    readonly kills: HistoryEvent[]
  }

  /** Lets processes contend, and checks their histories. */
  async function contend(play: (contest: Contest) => Promise<void>): Promise<Story[]> {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-versions-'))
    const histories = new Map<string, Version>()
    const kills: HistoryEvent[] = []
    const contender = async (version: Version): Promise<VersionProcess> => {
      const process = start(version)
      const history = join(folder, `${histories.size}.jsonl`)
      histories.set(history, version)
      const contenders = contendersOf(store.kinds)
      expect(await soon(process.ask({ ask: 'contend', history, contenders, workMs: 8 }))).toEqual(
        {},
      )
      return process
    }
    try {
      await play({ contender, kills })
      const stories = await Promise.all(
        [...histories].map(async ([file, version]) => ({
          version,
          events: parseHistory(await readFile(file, 'utf8'), { cut: true }),
        })),
      )
      const all = stories.map(({ events }) => events)
      const judged = checkHistory([...afterLastEvents(kills, all), ...all.flat()])
      expect(judged.map(({ message }) => message)).toEqual([])
      return stories
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async function contest(): Promise<void> {
    const stories = await contend(async ({ contender, kills }) => {
      const processes = await Promise.all([...VERSIONS, ...VERSIONS].map(contender))
      for (let round = 0; round < ROUNDS; round += 1) {
        await pass(store.ttlMs * 0.8)
        const index = round % processes.length
        const victim = processes[index]
        if (!victim) throw new Error('There is no such process.')
        kills.push(killOf(victim.pid))
        await victim.kill()
        processes[index] = await contender(VERSIONS[index % VERSIONS.length] ?? 'new')
      }
      await pass(store.ttlMs * 2)
      const ends = await stopAll(processes)
      expect(ends).toEqual(ends.map(() => ({})))
    })
    // Without a grant of each version the run shows nothing.
    for (const [key, versions] of holdersOf(stories)) {
      const changes = versions.filter(
        (version, index) => index > 0 && versions[index - 1] !== version,
      )
      console.log(
        `${store.name}: "${key}" was held ${versions.length} times, and ${changes.length} times after the other version`,
      )
      expect(changes.length).toBeGreaterThan(3)
    }
  }

  function contendersOf(kinds: StoreBeside['kinds']): Contender[] {
    const all: Contender[] = [
      { lock: lockOf('mutex', 'cohort'), weight: 1, capacity: 1 },
      { lock: lockOf('mutex', 'cohort'), weight: 1, capacity: 1 },
      { lock: lockOf('mutex', 'fifo', 'fifo'), weight: 1, capacity: 1 },
      { lock: lockOf('reader', 'shared'), weight: 1, capacity: READERS },
      { lock: lockOf('writer', 'shared'), weight: READERS, capacity: READERS },
      { lock: lockOf('semaphore', 'permits'), weight: 1, capacity: 2 },
      { lock: lockOf('semaphore', 'permits'), weight: 1, capacity: 2 },
    ]
    return all.filter(({ lock }) => kinds.includes(lock.kind))
  }
})

/** Ends the contention. */
function stopAll(processes: readonly VersionProcess[]): Promise<readonly Answer[]> {
  return soon(Promise.all(processes.map((process) => process.ask({ ask: 'stop' }))))
}

interface Story {
  readonly version: Version
  readonly events: readonly HistoryEvent[]
}

/** The versions that held each lock, in the order of their grants. */
function holdersOf(stories: readonly Story[]): Map<string, Version[]> {
  const grants = stories
    .flatMap(({ version, events }) => events.map((event) => ({ version, event })))
    .filter(({ event }) => event.f === 'acquire' && event.type === 'ok')
    .toSorted((a, b) => Number(a.event.t_ns - b.event.t_ns))
  const holders = new Map<string, Version[]>()
  for (const { version, event } of grants) {
    holders.set(event.key, [...(holders.get(event.key) ?? []), version])
  }
  return holders
}

/** More than contend at once: a writer takes them all. */
const READERS = 1000
const ROUNDS = 4

function killOf(pid: number): HistoryEvent {
  return { t_ns: process.hrtime.bigint(), pid, client: 'test', key: '', f: 'kill', type: 'info' }
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}

function soon<T>(promise: Promise<T>): Promise<T> {
  return withTimeout(promise, 2 * SOON_MS, () => new Error(`No answer within ${2 * SOON_MS} ms.`))
}
