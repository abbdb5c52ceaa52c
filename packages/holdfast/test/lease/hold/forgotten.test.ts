/** Leases that user code forgets: announced, and never released for that. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('forgotten-leases.mjs', import.meta.url))

const FORGOTTEN = ['fixed', 'forgotten', 'limited', 'overstayed', 'permit']

interface Report {
  readonly events: readonly { readonly lock: string; readonly acquiredAt?: string }[]
  readonly warnings: readonly { readonly name: string; readonly message: string }[]
  readonly free: readonly string[]
  readonly isFreed: boolean
  readonly losses: readonly string[]
}

async function forget(...args: readonly string[]): Promise<Report> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--expose-gc', '--no-warnings', SCRIPT, ...args],
    { timeout: 60_000 },
  )
  return JSON.parse(stdout) as Report
}

test('a forgotten lease is announced and warned of once, and stays held until close', async () => {
  const { events, warnings, free, isFreed, losses } = await forget()
  expect(events.map(({ lock }) => lock).sort()).toEqual(FORGOTTEN)
  expect(events[0]).not.toHaveProperty('acquiredAt')
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toMatchObject({ name: 'HoldfastWarning', code: 'LEASE_FORGOTTEN' })
  expect(warnings[0]?.message).toMatch(/was garbage-collected while it was held.*traceAcquires/)
  expect(free.toSorted()).toEqual(['ended', 'overstayed', 'released'])
  expect(losses.toSorted()).toEqual(['ended: deadline', 'overstayed: max-hold'])
  expect(isFreed).toBe(true)
})

test('with traceAcquires the event shows where the lease was acquired', async () => {
  const { events, warnings } = await forget('trace')
  expect(events).toHaveLength(FORGOTTEN.length)
  for (const { acquiredAt } of events) expect(acquiredAt).toContain('forgetLeases')
  expect(events.find(({ lock }) => lock === 'forgotten')?.acquiredAt).toMatch(
    /^ +at (async )?forgetLeases .*forgotten-leases\.mjs:\d+/,
  )
  expect(warnings[0]?.message).toContain('forgetLeases')
})
