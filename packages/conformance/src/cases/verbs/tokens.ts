/** Fencing tokens: each grant of a lock has a larger token than all grants before it. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectOutcome, tokenOf } from '../../expect.js'
import { adopt, queue, restart, semaphore, tokenBlocks } from '../../needs.js'
import type { Claim, Store } from 'holdfast/store'

export const tokens = new Group('tokens')

/** Takes and releases the lock. Returns the token. */
async function passThrough(context: Context, store: Store): Promise<bigint> {
  const claim = context.claim()
  const token = tokenOf(await context.take(claim, store))
  await context.withdraw(claim, store)
  return token
}

function assertGrowing(given: readonly bigint[]): void {
  for (const [index, token] of given.entries()) {
    const before = given[index - 1]
    assert.ok(before === undefined || token > before, `token ${token} came after ${before}`)
  }
}

tokens.test('tokens grow from holder to holder, across clients', async (context) => {
  const stores = [context.store, await context.open(), await context.open()]
  const given: bigint[] = []
  for (let round = 0; round < 12; round += 1) {
    given.push(await passThrough(context, stores[round % stores.length] ?? context.store))
  }
  assertGrowing(given)
})

tokens.test(
  'tokens grow when the lock is handed to a waiter',
  async (context) => {
    let holder = context.claim()
    const given = [tokenOf(await context.take(holder))]
    for (let round = 0; round < 5; round += 1) {
      const waiter = context.claim()
      await context.queue(waiter)
      await context.withdraw(holder)
      given.push(tokenOf(await context.granted(waiter, context.slackMs)))
      holder = waiter
    }
    assertGrowing(given)
  },
  { needs: [queue] },
)

tokens.test('tokens grow for a client that opens after all others have closed', async (context) => {
  const given: bigint[] = []
  for (let round = 0; round < 3; round += 1) {
    const store = await context.open()
    given.push(await passThrough(context, store))
    await store.close()
  }
  assertGrowing(given)
})

tokens.test(
  'tokens grow after a thousand other locks were used',
  async (context) => {
    const before = await passThrough(context, context.store)
    for (let batch = 0; batch < 11; batch += 1) {
      const claims = Array.from({ length: 100 }, (_, index) =>
        context.claim({ lock: context.name(`idle-${batch}-${index}`) }),
      )
      await Promise.all(claims.map((claim) => context.take(claim)))
      await Promise.all(claims.map((claim) => context.withdraw(claim)))
    }
    assertGrowing([before, await passThrough(context, context.store)])
  },
  { alone: true },
)

tokens.test(
  'tokens grow through a restart of the service',
  async (context) => {
    const before = await passThrough(context, context.store)
    await context.subject.restart?.()
    const store = await context.open()
    // No release: of several servers some may not have their clients back, and cannot tell.
    assertGrowing([before, tokenOf(await context.take(context.claim(), store))])
  },
  { needs: [restart], alone: true },
)

tokens.test('tokens grow when the lock is stolen', async (context) => {
  const before = tokenOf(await context.take(context.claim()))
  await context.store.steal(context.name(), { now: true })
  assertGrowing([before, tokenOf(await context.take(context.claim()))])
})

tokens.test(
  'holders at the same time have different tokens',
  async (context) => {
    const claims = Array.from({ length: 4 }, () =>
      context.claim({ kind: 'semaphore', capacity: 4 }),
    )
    const given: bigint[] = []
    for (const claim of claims) given.push(tokenOf(await context.take(claim)))
    assertGrowing(given)
  },
  { needs: [semaphore] },
)

tokens.test(
  'token blocks of different grants never overlap',
  async (context) => {
    const stores = [context.store, await context.open()]
    let nextFree = 0n
    for (const [round, asked] of [3, 1, 32, 2, 1, 7].entries()) {
      const claim = context.claim()
      const store = stores[round % 2] ?? context.store
      const block = expectOutcome(
        await store.attempt(claim, { enqueue: true, tokens: asked }),
        'granted',
      )
      assert.ok(tokenOf(block) >= nextFree, `a block from ${block.token} begins before ${nextFree}`)
      nextFree = tokenOf(block) + BigInt(block.tokens)
      await context.withdraw(claim, store)
    }
  },
  { needs: [tokenBlocks] },
)

tokens.test(
  'a waiter that is granted gets as many tokens as its last attempt asked for',
  async (context) => {
    const [holder, waiter] = [context.claim(), context.claim()]
    await context.take(holder)
    expectOutcome(await context.store.attempt(waiter, { enqueue: true, tokens: 1 }), 'waiting')
    expectOutcome(await context.store.attempt(waiter, { enqueue: true, tokens: 8 }), 'waiting')
    await context.withdraw(holder)
    const block = await context.granted(waiter, context.slackMs)
    assert.equal(block.tokens, 8)
    await context.withdraw(waiter)
    const next = await context.take(context.claim())
    assert.ok(tokenOf(next) >= tokenOf(block) + 8n)
  },
  { needs: [tokenBlocks, queue] },
)

tokens.test(
  'tokens grow over blocks, detached leases and adoptions, in front of a waiter',
  async (context) => {
    const stores = [context.store, await context.open()]
    const { fair } = context.subject.traits
    const given: bigint[] = []
    for (const [round, asked] of [1, 7, 1, 32].entries()) {
      const store = stores[round % 2] ?? context.store
      const [first, waiter] = [context.claim(), context.claim()]
      const result = await store.attempt(first, { enqueue: true, tokens: asked })
      const block = expectOutcome(result, 'granted')
      if (fair) await context.queue(waiter)
      // As after hand-offs inside the process: the last token of the block is in use.
      const token = tokenOf(block) + BigInt(block.tokens - 1)
      given.push(...new Set([tokenOf(block), token]))
      const last = await passAlong(context, stores, { claim: first, token }, given)
      await context.withdraw(last)
      if (!fair) continue
      given.push(tokenOf(await context.granted(waiter, context.slackMs)))
      await context.withdraw(waiter)
    }
    assertGrowing(given)
  },
  { needs: [adopt] },
)

/** Exports and adopts a lease several times. Notes the tokens, and returns the last claim. */
async function passAlong(
  context: Context,
  stores: readonly Store[],
  lease: { readonly claim: Claim; readonly token: bigint },
  given: bigint[],
): Promise<Claim> {
  let { claim: from, token } = lease
  for (const [step, detached] of [true, false, false, true, false].entries()) {
    const to = context.claim()
    const result = await stores[step % 2]?.adopt?.({ from, token, to, detached })
    const granted = expectOutcome(result as never, 'granted')
    if (detached) assert.equal(granted.token, token)
    else given.push((token = tokenOf(granted)))
    from = to
  }
  return from
}
