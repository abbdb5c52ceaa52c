/** A short round: each store on its real service, under all the faults under which everything is promised. */
import { describe, expect, test } from 'vitest'
import { promisedFaults, STORE_NAMES } from '@holdfast/torture'
import { torture } from './support/torture.js'

const SECONDS = 20

/** What a library below ours does wrong, so that these faults are left to runs by hand: docs/torture.md has the commands. */
const KNOWN: Readonly<Record<string, { readonly why: string; readonly left: readonly string[] }>> = {
  postgres: {
    why: 'the library `postgres` lets a rejection escape when it listens on a server that is starting up',
    left: ['server-kill', 'drop-replies'],
  },
}

describe.concurrent('under real faults', () => {
  test.for(STORE_NAMES)('%s keeps every promise', { timeout: 120_000 }, async (store, { expect: its }) => {
    const left = KNOWN[store]?.left
    const faults = left ? promisedFaults(store).filter((kind) => !left.includes(kind)) : ['promised']
    const args = ['--store', store, '--seconds', String(SECONDS), '--faults', faults.join()]
    const { status, stdout, stderr, ...ended } = await torture(...args)
    const broken = stdout.split('\n').filter((line) => /BROKEN|broken/.test(line))
    its(broken, stderr.slice(-2000)).toEqual([])
    its(status).toBe(0)
    // Much must have happened, or nothing was shown.
    its(Number(/(\d+) leases/.exec(stdout)?.[1])).toBeGreaterThan(20)
    its(ended).toEqual({ left: [], running: [], mounted: [] })
  })
})

for (const [store, { why, left }] of Object.entries(KNOWN)) {
  test.skip(`${store} without ${left.join(', ')}: ${why}`, () => undefined)
}

test.skipIf(process.getuid?.() === 0)(
  'a full disk and a partition: only root can make them, and they are left out here',
  () => undefined,
)

test('there are stores to try', () => {
  expect(STORE_NAMES.length).toBeGreaterThan(8)
})
