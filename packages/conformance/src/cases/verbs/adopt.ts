/** Adopt: one claim takes the place of another that holds the lock. */
import assert from 'node:assert/strict'
import {
  CAPACITY_ALL,
  type Adoption,
  type AdoptResult,
  type Claim,
  type Store,
} from 'holdfast/store'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectOutcome } from '../../expect.js'
import { adopt as canAdopt, queue, readWriteLock, semaphore } from '../../needs.js'

export const adopt = new Group('adopt', [canAdopt])

const READER = { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: 1 } as const
const WRITER = { ...READER, weight: CAPACITY_ALL } as const

const LOST = { outcome: 'lost', reason: 'expired' }

async function passOn(store: Store, adoption: Adoption): Promise<AdoptResult> {
  if (!store.adopt) assert.fail('a store with the trait has the verb')
  return store.adopt(adoption)
}

/** Takes the lock, and returns the claim with its token. */
async function taken(context: Context, claim = context.claim()): Promise<[Claim, bigint]> {
  const { token } = await context.take(claim)
  return [claim, token]
}

adopt.test('an adopted lease gets a larger token and a whole TTL', async (context) => {
  const [from, token] = await taken(context)
  const to = context.claim()
  const result = await passOn(context.store, { from, token, to, detached: false })
  const granted = expectOutcome(result as never, 'granted')
  assert.ok(granted.token > token, `token ${granted.token} came after ${token}`)
  assert.equal(granted.tokens, 1)
  assert.equal(granted.ttlMs, to.ttlMs)
  assert.ok(granted.remainingMs > to.ttlMs / 2, `${granted.remainingMs} ms remain`)
  assert.deepEqual(await context.store.renew([to]), [{ outcome: 'renewed' }])
  assert.equal(await context.withdraw(to), 'released')
  assert.ok((await context.take(context.claim())).token > granted.token)
})

adopt.test('a detached lease keeps its token', async (context) => {
  const [from, token] = await taken(context)
  const [detached, to] = [context.claim(), context.claim()]
  const kept = await passOn(context.store, { from, token, to: detached, detached: true })
  assert.equal(expectOutcome(kept as never, 'granted').token, token)
  const adopted = await passOn(context.store, { from: detached, token, to, detached: false })
  assert.ok(expectOutcome(adopted as never, 'granted').token > token)
})

adopt.test('late copies of an adoption change nothing', async (context) => {
  const [from, token] = await taken(context)
  const [to, next] = [context.claim(), context.claim()]
  const early = { from, token, to, detached: false }
  const first = expectOutcome((await passOn(context.store, early)) as never, 'granted')
  await passOn(context.store, { from: to, token: first.token, to: next, detached: false })
  assert.deepEqual(await passOn(context.store, early), LOST)
  assert.deepEqual(await context.store.renew([next]), [{ outcome: 'renewed' }])
  assert.equal(await context.withdraw(next), 'released')
  assert.deepEqual(await passOn(context.store, early), LOST)
  await context.take(context.claim())
})

adopt.test('an adopted claim is refused from then on, and frees nothing', async (context) => {
  const [from, token] = await taken(context)
  const to = context.claim()
  await passOn(context.store, { from, token, to, detached: false })
  assert.deepEqual(await context.store.renew([from]), [LOST])
  expectOutcome(await context.attempt(from), 'withdrawn')
  assert.notEqual(await context.withdraw(from), 'released')
  assert.deepEqual(await context.store.renew([to]), [{ outcome: 'renewed' }])
})

adopt.test('of two clients that adopt a lease, the second finds it lost', async (context) => {
  const [from, token] = await taken(context)
  const other = await context.open()
  const [one, two] = [context.claim(), context.claim()]
  const results = await Promise.all([
    passOn(context.store, { from, token, to: one, detached: false }),
    passOn(other, { from, token, to: two, detached: false }),
  ])
  assert.deepEqual(results.map(({ outcome }) => outcome).sort(), ['granted', 'lost'])
  const isFirst = results[0].outcome === 'granted'
  const [winner, home] = isFirst ? [one, context.store] : [two, other]
  assert.deepEqual(await home.renew([winner]), [{ outcome: 'renewed' }])
  assert.equal(await home.withdraw(winner), 'released')
})

adopt.test('an adoption that is repeated returns the same grant', async (context) => {
  const [from, token] = await taken(context)
  const to = context.claim()
  const first = await passOn(context.store, { from, token, to, detached: false })
  const again = await passOn(context.store, { from, token, to, detached: false })
  const granted = expectOutcome(again as never, 'granted')
  assert.equal(granted.token, expectOutcome(first as never, 'granted').token)
  assert.equal(granted.alreadyGranted, true)
})

adopt.test('a detached lease is adopted by another client', async (context) => {
  const [from, token] = await taken(context)
  const [detached, to] = [context.claim(), context.claim()]
  await passOn(context.store, { from, token, to: detached, detached: true })
  const other = await context.open()
  const result = await passOn(other, { from: detached, token, to, detached: false })
  assert.ok(expectOutcome(result as never, 'granted').token > token)
  assert.deepEqual(await other.renew([to]), [{ outcome: 'renewed' }])
  assert.equal(await other.withdraw(to), 'released')
})

adopt.test('a detached lease outlives the client that made it', async (context) => {
  const exporter = await context.open()
  const [from, detached] = [context.claim(), context.claim()]
  const token = (await context.take(from, exporter)).token
  await passOn(exporter, { from, token, to: detached, detached: true })
  await exporter.close()
  expectOutcome(await context.store.attempt(context.claim(), { enqueue: false, tokens: 1 }), 'busy')
  assert.deepEqual(await context.store.renew([detached]), [{ outcome: 'renewed' }])
  assert.equal(await context.store.withdraw(detached), 'released')
  await context.take(context.claim())
})

adopt.test('a detached lease ends with its TTL, and is not adopted after that', async (context) => {
  const [from, token] = await taken(context)
  const detached = context.claim({ ttlMs: context.shortMs })
  await passOn(context.store, { from, token, to: detached, detached: true })
  const next = context.claim()
  await context.granted(next, context.shortMs + 2 * context.slackMs)
  const to = context.claim()
  assert.deepEqual(
    await passOn(context.store, { from: detached, token, to, detached: false }),
    LOST,
  )
  assert.deepEqual(await context.store.renew([next]), [{ outcome: 'renewed' }])
})

adopt.test('a note on a detached lease does not lengthen it', async (context) => {
  const [from, token] = await taken(context)
  const detached = context.claim({ ttlMs: context.shortMs })
  await passOn(context.store, { from, token, to: detached, detached: true })
  let isOver = false
  const limitMs = context.shortMs + 2 * context.slackMs
  const next = context.later(
    context.granted(context.claim(), limitMs).finally(() => (isOver = true)),
  )
  while (!isOver) {
    await context.store.renew([{ ...detached, keepsEnd: true }])
    await context.time.pass(context.shortMs / 4)
  }
  await next
})

adopt.test(
  'a detached writer is downgraded',
  async (context) => {
    const [from, token] = await taken(context, context.claim(WRITER))
    const detached = context.claim(WRITER)
    await passOn(context.store, { from, token, to: detached, detached: true })
    assert.equal(await context.store.downgrade(detached), true)
    await context.take(context.claim(READER))
    assert.equal(await context.store.withdraw(detached), 'released')
  },
  { needs: [readWriteLock] },
)

adopt.test('a claim without a grant, or with another token, is not adopted', async (context) => {
  const [from, token] = await taken(context)
  const to = context.claim()
  const wrong: Adoption[] = [
    { from: context.claim(), token, to, detached: false },
    { from, token: token + 1000n, to, detached: false },
    { from, token: token - 1n, to, detached: false },
  ]
  for (const adoption of wrong) assert.deepEqual(await passOn(context.store, adoption), LOST)
  assert.deepEqual(await context.store.renew([from]), [{ outcome: 'renewed' }])
})

adopt.test('an adopter that is withdrawn on the way holds nothing', async (context) => {
  const other = await context.open()
  for (const delayMs of [0, 1, 2, 4]) {
    const [from, token] = await taken(context)
    const [detached, to] = [context.claim(), context.claim()]
    await passOn(context.store, { from, token, to: detached, detached: true })
    const adoption = { from: detached, token, to, detached: false }
    const adopting = passOn(other, adoption).catch(() => LOST)
    await context.time.pass(delayMs)
    await other.withdraw(to)
    await adopting
    // It may not have been adopted.
    await context.store.withdraw(detached)
    const next = context.claim()
    await context.take(next)
    await context.withdraw(next)
  }
})

adopt.test('an adopter that was withdrawn before adopts nothing', async (context) => {
  const [from, token] = await taken(context)
  const to = context.claim()
  await context.withdraw(to)
  assert.deepEqual(await passOn(context.store, { from, token, to, detached: false }), LOST)
  assert.deepEqual(await context.store.renew([from]), [{ outcome: 'renewed' }])
})

adopt.test(
  'a stolen lease is not adopted, and the loss says that it was stolen',
  async (context) => {
    const [from, token] = await taken(context)
    await context.store.steal(from.lock, { now: false })
    const to = context.claim()
    const result = await passOn(context.store, { from, token, to, detached: false })
    assert.deepEqual(result, { outcome: 'lost', reason: 'stolen' })
  },
)

adopt.test(
  'an adoption overtakes no waiter and keeps the weight',
  async (context) => {
    const permits = { kind: 'semaphore', capacity: 3 } as const
    const [from, token] = await taken(context, context.claim({ ...permits, weight: 2 }))
    const waiter = context.claim({ ...permits, weight: 2 })
    await context.queue(waiter)
    const to = context.claim({ ...permits, weight: 2 })
    await passOn(context.store, { from, token, to, detached: false })
    const info = await context.inspect()
    assert.deepEqual(
      info?.holders.map(({ claimId, weight, owner }) => ({ claimId, weight, owner })),
      [{ claimId: to.id, weight: 2, owner: to.owner }],
    )
    expectOutcome(await context.attempt(waiter), 'waiting')
    await context.withdraw(to)
    await context.granted(waiter, context.slackMs)
  },
  { needs: [semaphore, queue] },
)
