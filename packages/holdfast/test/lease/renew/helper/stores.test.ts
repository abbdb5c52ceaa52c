/** A second connection renews the claims of the first one, as the worker of a client does. */
import { STORES, waysTo, type Way } from '@holdfast/stores'
import type { RunningService } from '@holdfast/stores/descriptor'
import { loadModule } from '@holdfast/stores/load'
import type { Store } from 'holdfast/store'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { after } from '../../../../../../test/support/after.js'
import { makeClaim } from '../../../../../../test/support/claims.js'

const ONE_PROCESS = ['memory']
const SESSIONS = ['etcd', 'zookeeper']
const WAYS = STORES.filter(({ name }) => ![...ONE_PROCESS, ...SESSIONS].includes(name)).flatMap(
  (store) => waysTo(store, 'daily').slice(0, 1),
)

async function openOn({ at }: RunningService, { store, library }: Way): Promise<Store> {
  const opened = await store.service.open(at, { library, load: loadModule, migrate: true })
  after(async () => {
    await opened.store.close()
    await opened.end()
  })
  await opened.ready?.()
  return opened.store
}

describe.each(WAYS)('$title', (way) => {
  let running: RunningService

  beforeAll(async () => {
    running = await way.store.service.start()
  })

  afterAll(async () => running.remove())

  test('renewals of another connection count, and change nothing for the first one', async () => {
    const [first, second] = [await openOn(running, way), await openOn(running, way)]
    const claim = makeClaim('a', { ttlMs: 5000 })
    const granted = await first.attempt(claim, { enqueue: true, tokens: 1 })
    expect(granted.outcome).toBe('granted')
    for (const renewing of [second, second, first, second])
      expect(await renewing.renew([claim])).toEqual([{ outcome: 'renewed' }])
    expect(await first.withdraw(claim)).toBe('released')
    expect(await second.renew([claim])).toMatchObject([{ outcome: 'lost' }])
    const next = makeClaim('a', { ttlMs: 5000 })
    expect(await first.attempt(next, { enqueue: true, tokens: 1 })).toMatchObject({
      outcome: 'granted',
    })
    await first.withdraw(next)
  })
})
