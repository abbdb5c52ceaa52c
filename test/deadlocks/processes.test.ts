/** Deadlocks of real processes on real stores: one wait fails, and the others get their locks. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { DeadlockStep } from 'holdfast'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'
import { startRedis } from '@holdfast/servers/redis'

interface Wanted {
  readonly kind: 'mutex' | 'read' | 'write' | 'permits' | 'multi'
  readonly name: string
  readonly permits?: number
  readonly weight?: number
  readonly others?: readonly string[]
}

interface Result {
  readonly outcome: string
  readonly lock?: string
  readonly cycle?: readonly DeadlockStep[]
  readonly tookMs?: number
}

/** What a process takes: the inner lock inside the outer one. */
type Pair = readonly [outer: Wanted, inner?: Wanted]

/** The promise is two seconds. The rest is for a machine that does other work at the same time. */
const FOUND_WITHIN_MS = 3500

const directory = mkdtempSync(join(tmpdir(), 'holdfast-deadlocks-'))
const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
const STORES = [
  { store: 'embedded', at: directory },
  { store: 'redis', at: redis.url },
  { store: 'postgres', at: postgres.url },
]
const children = new Set<ChildProcessWithoutNullStreams>()

afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
})
afterAll(async () => {
  await Promise.all([redis.stop(), postgres.remove()])
  rmSync(directory, { recursive: true, force: true })
})

class Contender {
  readonly pid: number
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>

  constructor(place: { store: string; at: string }, label: string, [outer, inner]: Pair) {
    const terms = JSON.stringify({ ...place, label, outer, inner })
    this.#child = spawn(process.execPath, [join(import.meta.dirname, 'worker.mjs'), terms])
    this.#child.stderr.pipe(process.stderr)
    children.add(this.#child)
    this.pid = this.#child.pid ?? 0
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** Resolves when it holds its outer lock. */
  async holds(): Promise<void> {
    expect((await this.#lines.next()).value).toBe('holds')
  }

  /** Lets it take its inner lock. */
  go(when: 'now' | 'behind a waiter' = 'now'): void {
    this.#child.stdin.write(`go ${when}\n`)
  }

  async result(): Promise<Result> {
    const { value } = await this.#lines.next()
    if (this.#child.exitCode === null) await once(this.#child, 'exit')
    return JSON.parse(value as string) as Result
  }
}

let names = 0

/** Returns names that no other test uses. */
function fresh(...parts: readonly string[]): string[] {
  names += 1
  return parts.map((part) => `${part}-${names}`)
}

async function start(place: { store: string; at: string }, pairs: readonly Pair[]) {
  const contenders = pairs.map((pair, index) => new Contender(place, `job ${index}`, pair))
  await Promise.all(contenders.map((contender) => contender.holds()))
  return contenders
}

/** Asserts that one of them failed in time, with a cycle of this length of their processes. */
async function expectOneVictim(contenders: readonly Contender[], length: number): Promise<void> {
  const results = await Promise.all(contenders.map((contender) => contender.result()))
  const failed = results.filter(({ outcome }) => outcome !== 'done')
  expect(failed).toMatchObject([{ outcome: 'DEADLOCK' }])
  const [{ cycle, tookMs } = {} as Result] = failed
  expect(cycle).toHaveLength(length)
  const pids = contenders.map(({ pid }) => pid)
  for (const { pid, label } of cycle ?? []) expect(label).toBe(`job ${pids.indexOf(pid)}`)
  expect(tookMs).toBeLessThan(FOUND_WITHIN_MS)
}

describe.each(STORES)('on $store', (place) => {
  test.each([2, 5])('a deadlock of %i processes', async (length) => {
    const names = fresh(...Array.from({ length }, (_, index) => `lock-${index}`))
    const mutex = (index: number): Wanted => ({ kind: 'mutex', name: names[index % length] ?? '' })
    const pairs = names.map((_, index): Pair => [mutex(index), mutex(index + 1)])
    const contenders = await start(place, pairs)
    for (const contender of contenders) contender.go()
    await expectOneVictim(contenders, length)
  })

  test('a deadlock over a mutex, a reader and permits', async () => {
    const [mutex = '', page = '', pool = ''] = fresh('mutex', 'page', 'pool')
    const contenders = await start(place, [
      [
        { kind: 'mutex', name: mutex },
        { kind: 'write', name: page },
      ],
      [
        { kind: 'read', name: page },
        { kind: 'permits', name: pool, permits: 3, weight: 2 },
      ],
      [
        { kind: 'permits', name: pool, permits: 3, weight: 2 },
        { kind: 'mutex', name: mutex },
      ],
    ])
    for (const contender of contenders) contender.go()
    await expectOneVictim(contenders, 3)
  })

  test('a permit behind a heavy waiter, though one is free', async () => {
    const [mutex = '', pool = ''] = fresh('mutex', 'pool')
    const permit = { kind: 'permits', name: pool, permits: 2, weight: 1 } as const
    const contenders = await start(place, [
      [permit, { kind: 'mutex', name: mutex }],
      [{ kind: 'mutex', name: mutex }, permit],
    ])
    const heavy = new Contender(place, 'heavy', [{ ...permit, weight: 2 }])
    contenders[0]?.go()
    contenders[1]?.go('behind a waiter')
    await expectOneVictim(contenders, 2)
    await heavy.holds()
    heavy.go()
    expect(await heavy.result()).toEqual({ outcome: 'done' })
  })

  test('a deadlock through a multi-lock', async () => {
    const [first = '', second = '', outer = ''] = fresh('first', 'second', 'outer')
    const contenders = await start(place, [
      [
        { kind: 'mutex', name: outer },
        { kind: 'multi', name: first, others: [second] },
      ],
      [
        { kind: 'mutex', name: second },
        { kind: 'mutex', name: outer },
      ],
    ])
    for (const contender of contenders) contender.go()
    await expectOneVictim(contenders, 2)
  })
})
