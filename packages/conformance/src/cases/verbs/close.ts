/** Closing a client of the store: it affects no other client. */
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { Group } from '../../case.js'
import { outcomeOf } from '../../expect.js'
import { connected, push, queue } from '../../needs.js'
import { isLockError, type LockError } from 'holdfast'
import type { RenewResult } from 'holdfast/store'

export const close = new Group('close')

close.test('closing a client keeps the leases of other clients', async (context) => {
  const [holder, other] = [context.claim(), await context.open()]
  await context.take(holder)
  await other.attempt(context.claim({ lock: context.name('elsewhere') }), {
    enqueue: false,
    tokens: 1,
  })
  await other.close()
  const [renewed] = await context.store.renew([holder])
  assert.equal(renewed?.outcome, 'renewed')
  assert.equal(await context.withdraw(holder), 'released')
})

close.test(
  'closing a client keeps the watches of other clients',
  async (context) => {
    const [holder, waiter, other] = [context.claim(), context.claim(), await context.open()]
    await context.take(holder)
    await context.queue(waiter)
    let wakes = 0
    const watch = context.store.watch(waiter, () => (wakes += 1))
    await watch.ready
    await other.attempt(context.claim({ lock: context.name('elsewhere') }), {
      enqueue: false,
      tokens: 1,
    })
    await other.close()
    await context.withdraw(holder)
    await context.time.eventually('the waiter is woken', context.slackMs, () => wakes > 0)
    watch.close()
  },
  { needs: [queue, push] },
)

close.test(
  'each verb of a closed store rejects with LOCKS_CLOSED',
  async (context) => {
    const store = await context.open()
    const { lock } = context.claim()
    const claim = context.claim({
      kind: store.traits.kinds.includes('readWriteLock') ? 'readWriteLock' : 'mutex',
    })
    await store.attempt(claim, { enqueue: false, tokens: 1 })
    await store.withdraw(claim)
    await store.close()
    const asked: Record<string, () => unknown> = {
      attempt: () => store.attempt(context.claim(), { enqueue: false, tokens: 1 }),
      renew: () => store.renew([claim]),
      withdraw: () => store.withdraw(claim),
      downgrade: () => store.downgrade(claim),
      steal: () => store.steal(lock, { now: true }),
      inspect: () => store.inspect([lock]),
      list: () => store.list({ prefix: lock, limit: 1 }),
    }
    for (const [verb, ask] of Object.entries(asked)) {
      const outcome = await context.soon(outcomeOf(ask))
      const error = 'error' in outcome ? outcome.error : unknownBecause(outcome.value)
      assert.equal(
        (error as LockError | undefined)?.code,
        'LOCKS_CLOSED',
        `${verb}: ${inspect(outcome)}`,
      )
    }
  },
  { needs: [connected] },
)

close.test(
  'a store can be closed twice, and a verb after that has a typed error if any',
  async (context) => {
    const store = await context.open()
    const claim = context.claim()
    await store.attempt(claim, { enqueue: false, tokens: 1 })
    await store.withdraw(claim)
    await store.close()
    await store.close()
    const outcome = await context.soon(
      outcomeOf(() => store.attempt(context.claim(), { enqueue: false, tokens: 1 })),
    )
    if ('error' in outcome) assert.ok(isLockError(outcome.error), String(outcome.error))
  },
)

/** Returns the cause of a renewal's unknown outcome, where a store answers each renewal. */
function unknownBecause(value: unknown): unknown {
  const [first] = Array.isArray(value) ? (value as readonly RenewResult[]) : []
  return first?.outcome === 'unknown' ? first.cause : undefined
}
