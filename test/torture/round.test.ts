/**
 * A short round: each store on its real service, under all the faults under which everything is
 * promised.
 */
import { describe, expect, test } from 'vitest'
import { STORES } from '@holdfast/stores'
import { isFull } from '../support/plan.js'
import { torture } from './support/torture.js'

const SECONDS = 20
/** A round keeps the machine busy for its whole time. */
const TRIED = isFull() ? STORES : STORES.filter(({ name }) => name === 'redis')

describe.concurrent('under real faults', () => {
  test.for(TRIED)(
    '$name keeps every promise',
    { timeout: 120_000 },
    async ({ name, torture: { exports } }, { expect: its }) => {
      const { status, stdout, stderr, ...ended } = await torture(
        '--store',
        name,
        '--seconds',
        String(SECONDS),
      )
      const broken = stdout.split('\n').filter((line) => /BROKEN|broken/.test(line))
      its(broken, stderr.slice(-2000)).toEqual([])
      its(status).toBe(0)
      // Much must have happened, or nothing was shown.
      const leases = Number(/(\d+) leases/.exec(stdout)?.[1])
      its(leases).toBeGreaterThan(20)
      // About one lease in twenty is adopted; a busy machine may make too few of them.
      if (exports && leases > 200) its(Number(/(\d+) adopted/.exec(stdout)?.[1])).toBeGreaterThan(0)
      its(ended).toEqual({ left: [], running: [], mounted: [] })
    },
  )
})

test.skipIf(process.getuid?.() === 0)(
  'a full disk and a partition: only root can make them, and they are left out here',
  () => undefined,
)

test('there are stores to try', () => {
  expect(STORES.length).toBeGreaterThan(8)
})
