/**
 * What keeps a process alive: a pending call does until it settles, and a held lease alone does
 * not. After `close`, nothing of the store is left. A client that is closed first gets an answer.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { STORES, waysTo, type Way } from '@holdfast/stores'
import type { RunningService } from '@holdfast/stores/descriptor'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFull } from '../support/plan.js'

/** A program that does not end would live until here. */
const LONG_MS = 60_000
/** Longer than a busy machine takes for a prompt answer, shorter than the limits of retries. */
const PROMPT_MS = 3000

interface Step {
  readonly step: string
  readonly atMs: number
  readonly held?: boolean
  readonly resources?: readonly string[]
}

interface Life {
  readonly exitCode: number
  readonly steps: readonly Step[]
  readonly names: readonly string[]
}

/** The others run in the full plan: they differ in their servers. */
const DAILY = ['memory', 'embedded', 'redis']
const WAYS = isFull()
  ? STORES.flatMap((store) => waysTo(store, 'full'))
  : STORES.filter(({ name }) => DAILY.includes(name)).flatMap((store) => waysTo(store, 'daily'))

function live({ store, library }: Way, at: readonly string[], scene: string): Promise<Life> {
  const terms = JSON.stringify({ name: store.name, library, at, scene })
  const path = join(import.meta.dirname, 'worker.mjs')
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [path, terms], { timeout: LONG_MS / 2 }, (_, out) => {
      const lines = out.split('\n').filter((line) => line !== '')
      const steps = lines.map((line) => JSON.parse(line) as Step)
      resolve({ exitCode: child.exitCode ?? -1, steps, names: steps.map(({ step }) => step) })
    })
    child.stderr?.pipe(process.stderr)
  })
}

/** The time between two steps, in milliseconds. */
function between(steps: readonly Step[], first: string, last: string): number {
  const at = (name: string): number => steps.find(({ step }) => step === name)?.atMs ?? Number.NaN
  return at(last) - at(first)
}

describe.each(WAYS)('a program over $title', { timeout: LONG_MS }, (way) => {
  /** Whether the program has a client of its own for the store. */
  const hasClient = way.library !== undefined
  let running: RunningService

  beforeAll(async () => {
    running = await way.store.service.start()
  }, LONG_MS)
  afterAll(() => running.remove())

  test('lives while a call is pending, and not after close', async () => {
    const { exitCode, steps, names } = await live(way, running.at, 'pending')
    expect(names).toEqual(['granted', 'leads', 'released', 'closed', 'left'])
    expect(steps.at(-1)?.resources).toEqual([])
    expect(exitCode).toBe(0)
  })

  test('ends at its end, with a lease that it holds', async () => {
    const { exitCode, names } = await live(way, running.at, 'held')
    expect(names).toEqual(['held'])
    expect(exitCode).toBe(0)
  })

  test.runIf(hasClient)('gets an answer after it ended its client first', async () => {
    const { exitCode, steps, names } = await live(way, running.at, 'client-first')
    const [held, ended, released, acquired, ...rest] = names
    expect([held, ended, ...rest]).toEqual(['held', 'ended', 'closed'])
    // A Cluster has connections of the store's own, which still work.
    expect(['RELEASE_UNKNOWN', 'released']).toContain(released)
    expect(['LOCKS_CLOSED', 'granted']).toContain(acquired)
    expect(between(steps, 'ended', 'closed')).toBeLessThan(PROMPT_MS)
    expect(exitCode).toBe(0)
  })

  test.runIf(hasClient)('gets an answer after it ended its client under a waiter', async () => {
    const { exitCode, steps, names } = await live(way, running.at, 'client-before-waiter')
    // The client may be ended before or after the caller has its answer.
    const [answer, ...others] = names.filter((name) => name !== 'ends' && name !== 'ended')
    expect(others).toEqual(['closed'])
    expect(names).toContain('ended')
    // A Cluster has connections of the store's own, which still wait.
    expect(['LOCKS_CLOSED', 'granted']).toContain(answer)
    if (answer !== 'granted') expect(between(steps, 'ends', 'closed')).toBeLessThan(PROMPT_MS)
    expect(exitCode).toBe(0)
  })
})
