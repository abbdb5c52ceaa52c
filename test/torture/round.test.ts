/**
 * A short round: each store on its real service, under all the faults under which everything is
 * promised.
 */
import { describe, expect, test } from 'vitest'
import { STORE_NAMES } from '@holdfast/torture'
import { isFull } from '../support/plan.js'
import { torture } from './support/torture.js'

const SECONDS = 20
/** A round keeps the machine busy for its whole time. */
const STORES = isFull() ? STORE_NAMES : STORE_NAMES.filter((name) => name === 'redis')

/** Stores whose leases end with their process. */
const ADOPTS_NOTHING: readonly string[] = ['memory', 'zookeeper']

describe.concurrent('under real faults', () => {
  test.for(STORES)(
    '%s keeps every promise',
    { timeout: 120_000 },
    async (store, { expect: its }) => {
      const { status, stdout, stderr, ...ended } = await torture(
        '--store',
        store,
        '--seconds',
        String(SECONDS),
      )
      const broken = stdout.split('\n').filter((line) => /BROKEN|broken/.test(line))
      its(broken, stderr.slice(-2000)).toEqual([])
      its(status).toBe(0)
      // Much must have happened, or nothing was shown.
      its(Number(/(\d+) leases/.exec(stdout)?.[1])).toBeGreaterThan(20)
      if (!ADOPTS_NOTHING.includes(store))
        its(Number(/(\d+) adopted/.exec(stdout)?.[1])).toBeGreaterThan(0)
      its(ended).toEqual({ left: [], running: [], mounted: [] })
    },
  )
})

test.skipIf(process.getuid?.() === 0)(
  'a full disk and a partition: only root can make them, and they are left out here',
  () => undefined,
)

test('there are stores to try', () => {
  expect(STORE_NAMES.length).toBeGreaterThan(8)
})
