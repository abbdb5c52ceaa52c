/** Real processes that the suite kills and stops while they hold or wait. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Group } from '../case.js'
import { checkHistory, holdsOf } from '../check/index.js'
import type { Context } from '../context.js'
import type { Subject } from '../subject.js'
import { afterLastEvents, parseHistory, type HistoryEvent } from '../history/index.js'
import { queue, worker as needsWorker } from '../needs.js'
import type { WorkerProcess } from '../worker/process.js'
import { START_MS, withWorkers } from './with-workers.js'

export const processes = new Group('processes', [needsWorker])

const CONTENDERS = 4
/** On a busy machine a process takes a second to start, and the lock of a killed one its TTL. */
const ROUND_LIMIT_MS = 4000

/** Makes the worker acquire the lock of the context. Returns its token. */
async function holding(
  context: Context,
  worker: WorkerProcess,
  ttlMs: number,
): Promise<bigint | undefined> {
  const answer = await context.time.within(
    worker.ask({ ask: 'acquire', lock: context.name(), ttlMs }),
    START_MS,
    'the lock in a worker',
  )
  assert.ok(
    answer.answer === 'held' && answer.held,
    `the worker answered ${JSON.stringify(answer)}`,
  )
  return answer.token === undefined ? undefined : BigInt(answer.token)
}

processes.test(
  'a waiter gets the lock of a killed holder within its TTL and a second',
  async (context) => {
    await withWorkers(context, async (start) => {
      const worker = start()
      const ttlMs = Math.max(1000, context.shortMs)
      const token = await holding(context, worker, ttlMs)
      const waiting = (await context.locks()).mutex(context.name()).acquire()
      await context.time.pass(200)
      await worker.kill()
      const lease = await context.time.within(
        waiting,
        ttlMs + 1000 + context.slackMs,
        'the lock of the killed holder',
      )
      if (token !== undefined) assert.ok(lease.token > token)
    })
  },
)

processes.test(
  'a killed waiter loses its place',
  async (context) => {
    await withWorkers(context, async (start) => {
      const holder = await context.soon((await context.locks()).mutex(context.name()).acquire())
      const worker = start()
      // A store may show the entry of an attempt in flight, which ends later than that of a waiter.
      const waits = worker.ask({ ask: 'wait', lock: context.name(), ttlMs: context.longMs })
      const answer = await context.time.within(waits, START_MS, 'the queue in a worker')
      assert.deepEqual(answer, { answer: 'done' })
      const next = (await context.locks()).mutex(context.name()).acquire()
      await context.waiters(2)
      await worker.kill()
      await holder.release()
      // Three heartbeats of a second, and the re-attempt floor of the waiter behind it.
      const lease = await context.time.within(
        next,
        5000 + context.slackMs,
        'the lock behind the killed waiter',
      )
      assert.equal(lease.held, true)
    })
  },
  { needs: [queue], alone: true },
)

processes.test(
  'a stopped holder loses the lock after its TTL, and knows it when it continues',
  async (context) => {
    await withWorkers(context, async (start) => {
      const worker = start()
      const ttlMs = Math.max(500, context.shortMs)
      await holding(context, worker, ttlMs)
      const frozen = worker.ask({ ask: 'freeze' })
      const waiting = (await context.locks()).mutex(context.name()).acquire()
      const lease = await context.time.within(
        waiting,
        ttlMs + 1000 + context.slackMs,
        'the lock of the stopped holder',
      )
      worker.thaw()
      await context.soon(frozen)
      const answer = await context.soon(worker.ask({ ask: 'held', lock: context.name() }))
      assert.ok(answer.answer === 'held')
      assert.equal(answer.held, false)
      const released = await context.soon(worker.ask({ ask: 'release', lock: context.name() }))
      assert.deepEqual(released, { answer: 'released', outcome: 'lost' })
      assert.equal(lease.held, true)
      assert.equal(await context.soon(lease.release()), 'released')
    })
  },
)

processes.test(
  'contending processes exclude each other',
  async (context) => void (await contest(context, () => context.time.pass(1500))),
  { limitMs: 120_000, alone: true },
)

processes.test(
  'contending processes that are killed at random exclude each other, and no token is granted twice',
  async (context) => {
    const rounds = killRoundsOf(context.subject)
    // Where the shortest TTL is long, workers that are killed faster than leases end would never
    // hold the lock.
    const events = await contest(context, async ({ workers, replace, holds }) => {
      for (let round = 0; round < rounds; round += 1) {
        await context.time.pass(context.shortMs * (1 / 6 + context.random.next() / 2))
        // On a busy machine most of the time passes until the leases of killed workers end. So a
        // worker is killed only after the lock was held again.
        const heldAgain = async (): Promise<boolean> => (await holds()) > round
        await context.time.eventually('a worker has held the lock again', START_MS, heldAgain)
        await replace(workers[Math.floor(context.random.next() * workers.length)])
      }
    })
    assert.equal(events.filter(({ f }) => f === 'kill').length, rounds)
    assert.ok(
      holdsOf(events).length >= rounds,
      'the lock was held less often than processes were killed',
    )
  },
  { limitMs: (subject) => 120_000 + killRoundsOf(subject) * ROUND_LIMIT_MS, alone: true },
)

function killRoundsOf({ killRounds = 30 }: Subject): number {
  return killRounds
}

interface Contest {
  readonly workers: WorkerProcess[]
  /** Kills a worker and starts another. */
  readonly replace: (worker: WorkerProcess | undefined) => Promise<void>
  /** Resolves to how often the lock was held so far. */
  readonly holds: () => Promise<number>
}

/** Lets processes contend while `meanwhile` runs, then checks their histories. */
async function contest(
  context: Context,
  meanwhile: (contest: Contest) => Promise<void>,
): Promise<HistoryEvent[]> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-contest-'))
  const kills: HistoryEvent[] = []
  const holds = new HoldCount(folder)
  let files = 0
  try {
    await withWorkers(context, async (start) => {
      const contender = async (): Promise<WorkerProcess> => {
        const worker = start()
        const history = join(folder, `${(files += 1)}.jsonl`)
        const lock = { lock: context.name(), ttlMs: context.shortMs }
        const ready = worker.ask({ ask: 'contend', ...lock, actors: 2, workMs: 6, history })
        await context.time.within(ready, START_MS, 'the start of a worker')
        return worker
      }
      const workers = await Promise.all(Array.from({ length: CONTENDERS }, contender))
      await meanwhile({
        workers,
        async replace(worker) {
          const index = workers.findIndex((one) => one === worker)
          assert.ok(worker && index >= 0)
          // A process that died by itself would look like a holder that others do not respect.
          assert.equal(worker.died, undefined)
          // Noted before the kill, so that no operation of the process seems to come after it.
          kills.push(killOf(worker.pid))
          await worker.kill()
          workers[index] = await contender()
        },
        holds: () => holds.read(),
      })
      for (const { died } of workers) assert.equal(died, undefined)
      await drain(context, workers)
    })
    const histories = await readHistories(folder)
    const events = [...afterLastEvents(kills, histories), ...histories.flat()]
    assert.deepEqual(
      checkHistory(events).map(({ message }) => message),
      [],
    )
    return events
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Checks that every worker stops in time, and that the lock is free after that. */
async function drain(context: Context, workers: readonly WorkerProcess[]): Promise<void> {
  const stopped = Promise.all(workers.map((worker) => worker.ask({ ask: 'stop' })))
  const limitMs = 3000 + context.shortMs + context.slackMs
  await context.time.within(stopped, limitMs, 'the end of the contention')
  const lease = await context.time.within(
    (await context.locks()).mutex(context.name()).acquire(),
    limitMs,
    'the lock after the contention',
  )
  await lease.release()
}

function killOf(pid: number): HistoryEvent {
  return { t_ns: process.hrtime.bigint(), pid, client: 'suite', key: '', f: 'kill', type: 'info' }
}

async function readHistories(folder: string): Promise<(readonly HistoryEvent[])[]> {
  const files = await readdir(folder)
  return Promise.all(files.map((file) => readOne(join(folder, file))))
}

async function readOne(path: string): Promise<readonly HistoryEvent[]> {
  return parseHistory(await readFile(path, 'utf8'), { cut: true })
}

/** Counts the holds in all histories of a folder. Reads again only files that have grown. */
class HoldCount {
  readonly #folder: string
  readonly #counted = new Map<string, { readonly bytes: number; readonly holds: number }>()

  constructor(folder: string) {
    this.#folder = folder
  }

  async read(): Promise<number> {
    const files = await readdir(this.#folder)
    const counts = await Promise.all(files.map((file) => this.#holdsIn(join(this.#folder, file))))
    return counts.reduce((sum, holds) => sum + holds, 0)
  }

  async #holdsIn(path: string): Promise<number> {
    const { size: bytes } = await stat(path)
    const known = this.#counted.get(path)
    if (known?.bytes === bytes) return known.holds
    const holds = holdsOf(await readOne(path)).length
    this.#counted.set(path, { bytes, holds })
    return holds
  }
}
