/** A wait is reported on stderr after 10 s, also without a terminal. Time is vitest's. */
import { isatty } from 'node:tty'
import { createLocks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { reportWait } from '../../../dist/cli/run/waiting.js'

const STORE = { url: 'memory:', shown: 'memory:', source: '--store', modules: undefined }

let written = ''

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  written = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text)
    return true
  })
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

it.skipIf(isatty(2))('reports the holder once, and not before 10 s', async () => {
  const locks = createLocks(memoryStore(), { label: 'nightly backup', ttlMs: 60_000 })
  const lease = await locks.mutex('job').acquire()
  const stop = reportWait(locks, 'job', STORE)
  await vi.advanceTimersByTimeAsync(9_900)
  expect(written).toBe('')
  await vi.advanceTimersByTimeAsync(200)
  expect(written).toMatch(
    /^holdfast: waiting for "job" \(memory:\), held by .*nightly backup.*\.\n$/,
  )
  await vi.advanceTimersByTimeAsync(20_000)
  expect(written.match(/waiting/g)).toHaveLength(1)
  stop()
  // A lease that is collected is warned of.
  await lease.release()
  await locks.close()
})

it.skipIf(isatty(2))('says nothing about a wait that has ended', async () => {
  const locks = createLocks(memoryStore())
  const lease = await locks.mutex('job').acquire()
  reportWait(locks, 'job', STORE)()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(written).toBe('')
  await lease.release()
  await locks.close()
})
