/** `inspect`, `steal` and `close` of the public API. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { codeOf, expectError, outcomeOf } from '../../expect.js'
import { queue, semaphore, tokenBlocks } from '../../needs.js'

export const administration = new Group('administration')

administration.test(
  'inspect shows the locks of its namespace, holders and waiters',
  async (context) => {
    const namespace = context.name('shop')
    const [one, two] = [
      await context.locks({ namespace, label: 'job 7' }),
      await context.locks({ namespace }),
    ]
    const outsider = await context.locks({ namespace: `${namespace}2` })
    const held = await context.soon(one.mutex('order:1').acquire())
    await context.soon(one.mutex('order:2').acquire())
    await context.soon(one.mutex('stock').acquire())
    await context.soon(outsider.mutex('order:3').acquire())
    const waiting = outcomeOf(two.mutex('order:1').acquire({ waitMs: 20_000 }))
    await context.waiters(1, `${namespace}:order:1`)
    const { locks: shown } = await context.soon(two.inspect({ prefix: 'order:' }))
    const names = shown.map(({ lock }) => lock).sort()
    assert.deepEqual(names, [`${namespace}:order:1`, `${namespace}:order:2`])
    const first = shown.find(({ lock }) => lock === held.name)
    assert.equal(first?.holders[0]?.owner.label, 'job 7')
    assert.equal(first?.holders[0]?.owner.clientId, one.clientId)
    assert.equal(first?.waiters[0]?.owner.clientId, two.clientId)
    assert.equal((await context.soon(two.inspect())).locks.length, 3)
    const page = await context.soon(two.inspect({ limit: 2 }))
    const rest = await context.soon(two.inspect({ limit: 2, cursor: page.cursor }))
    const paged = [...page.locks, ...rest.locks].map(({ lock }) => lock)
    assert.equal(page.locks.length, 2)
    assert.equal(new Set(paged).size, 3)
    await held.release()
    assert.ok('value' in (await context.time.within(waiting, 2000 + context.slackMs, 'the lock')))
  },
  { needs: [queue] },
)

administration.test(
  'inspect of one lock shows its holders and waiters, and nothing of other locks',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks({ label: 'job 8' })]
    const mutex = one.mutex(context.name())
    const free = await context.soon(mutex.inspect())
    assert.deepEqual([free.lock, free.kind], [mutex.name, 'mutex'])
    assert.deepEqual([free.holders, free.waiters, free.freePermits], [[], [], undefined])
    const held = await context.soon(mutex.acquire())
    await context.soon(one.mutex(`${context.name()}2`).acquire())
    const waiting = outcomeOf(two.mutex(context.name()).acquire({ waitMs: 20_000 }))
    await context.waiters(1)
    const shown = await context.soon(two.mutex(context.name()).inspect())
    assert.deepEqual(
      shown.holders.map(({ claimId, token }) => [claimId, token]),
      [[held.claimId, held.token]],
    )
    assert.deepEqual(
      shown.waiters.map(({ owner }) => owner.label),
      ['job 8'],
    )
    await held.release()
    assert.ok('value' in (await context.time.within(waiting, 2000 + context.slackMs, 'the lock')))
  },
  { needs: [queue] },
)

administration.test(
  'inspect of a semaphore shows its free permits',
  async (context) => {
    const locks = await context.locks()
    const gate = locks.semaphore(context.name(), { permits: 5 })
    assert.equal((await context.soon(gate.inspect())).freePermits, 5)
    await context.soon(gate.acquire({ weight: 2 }))
    const last = await context.soon(gate.acquire())
    assert.equal((await context.soon(gate.inspect())).freePermits, 2)
    await context.soon(last.release())
    assert.equal((await context.soon(gate.inspect())).freePermits, 3)
  },
  { needs: [semaphore] },
)

administration.test(
  'ping resolves with the time that the answer took, and leaves nothing in the store',
  async (context) => {
    const namespace = context.name('pinged')
    const locks = await context.locks({ namespace })
    const startedMs = context.time.nowMs()
    const { latencyMs } = await context.soon(locks.ping())
    assert.ok(latencyMs >= 0 && latencyMs <= context.time.nowMs() - startedMs + 1)
    assert.deepEqual((await context.soon(locks.inspect())).locks, [])
    await context.soon(locks.close())
    await expectError('LOCKS_CLOSED', () => locks.ping())
  },
)

administration.test(
  'inspect shows how many more callers wait in a client',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const held = await context.soon(one.mutex(context.name()).acquire())
    const waits = Array.from({ length: 4 }, () => two.mutex(context.name()).run(() => undefined))
    const all = outcomeOf(Promise.all(waits))
    await context.time.eventually(
      'three more callers wait behind the first',
      2000 + context.slackMs,
      async () => {
        const [waiter] = (await context.inspect())?.waiters ?? []
        return waiter?.owner.localWaiters === 3
      },
    )
    await held.release()
    await context.time.within(all, 2000 + context.slackMs, 'the end of all waits')
  },
  { needs: [queue, tokenBlocks] },
)

administration.test(
  'a lock stolen with `now` is free at once, and its holder learns of the loss',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const lease = await context.soon(one.mutex(context.name()).acquire())
    assert.deepEqual(await context.soon(two.steal(context.name(), { now: true })), {
      holders: 1,
      freeInMs: 0,
    })
    await context.soon(two.mutex(context.name()).acquire(), 'the free lock')
    await expectError('LOCK_LOST', () => context.soon(lease.renew()))
    assert.equal(lease.held, false)
    assert.equal(await context.soon(lease.release()), 'lost')
  },
)

administration.test(
  'a lock stolen with `now` by the client that holds it is free at once',
  async (context) => {
    const locks = await context.locks()
    const mutex = locks.mutex(context.name())
    const lease = await context.soon(mutex.acquire())
    await context.soon(locks.steal(context.name(), { now: true }))
    assert.equal((await context.soon(mutex.acquire(), 'the free lock')).held, true)
    assert.equal(lease.held, false)
  },
)

administration.test(
  'inspect does not show the note of a holder for the next holder',
  async (context) => {
    const locks = await context.locks()
    const mutex = locks.mutex(context.name())
    const lease = await context.soon(mutex.acquire())
    await context.soon(lease.annotate({ label: 'the first job' }))
    const next = mutex.acquire()
    await context.soon(lease.release())
    await context.soon(next, 'the free lock')
    assert.equal((await context.inspect())?.holders[0]?.owner.label, undefined)
  },
)

administration.test(
  'close ends an attempt in flight, and leaves nothing in the store',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const asked = outcomeOf(one.mutex(context.name()).tryAcquire())
    await context.soon(one.close())
    const outcome = await context.soon(asked)
    if ('value' in outcome) assert.notEqual(outcome.value?.held, true)
    else assert.equal(codeOf(outcome), 'LOCKS_CLOSED')
    await context.soon(two.mutex(context.name()).acquire(), 'the free lock')
  },
)

administration.test(
  'close ends an acquire whose signal is not ready yet, and leaves nothing in the store',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const asked = outcomeOf(one.mutex(context.name()).acquire({ abortBeforeMs: 1 }))
    await context.soon(one.close())
    assert.equal(codeOf(await context.soon(asked)), 'LOCKS_CLOSED')
    await context.soon(two.mutex(context.name()).acquire(), 'the free lock')
  },
)

administration.test('close starts no work for a grant in flight', async (context) => {
  const locks = await context.locks()
  let begun = false
  const run = outcomeOf(locks.mutex(context.name()).run(() => (begun = true)))
  await context.soon(locks.close())
  assert.equal(codeOf(await context.soon(run)), 'LOCKS_CLOSED')
  assert.equal(begun, false)
})

administration.test('close releases held leases', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const lease = await context.soon(one.mutex(context.name('a')).acquire())
  await context.soon(one.mutex(context.name('b')).acquire())
  await context.soon(one.close())
  assert.equal(lease.held, false)
  await context.soon(two.mutex(context.name('a')).acquire(), 'the free lock')
  await context.soon(two.mutex(context.name('b')).acquire(), 'the free lock')
})

administration.test('close rejects waiters, and leaves the queue', async (context) => {
  const [one, two, three] = [await context.locks(), await context.locks(), await context.locks()]
  const held = await context.soon(one.mutex(context.name()).acquire())
  const waits = Array.from({ length: 3 }, () => outcomeOf(two.mutex(context.name()).acquire()))
  await context.time.pass(30)
  await context.soon(two.close())
  for (const outcome of await context.soon(Promise.all(waits))) {
    assert.equal(codeOf(outcome), 'LOCKS_CLOSED')
  }
  await held.release()
  await context.soon(three.mutex(context.name()).acquire(), 'the free lock')
})

administration.test(
  'a repeated close succeeds, and calls after it are refused',
  async (context) => {
    const locks = await context.locks()
    const mutex = locks.mutex(context.name())
    await context.soon(Promise.all([locks.close(), locks.close()]))
    await context.soon(locks.close())
    await expectError('LOCKS_CLOSED', () => mutex.acquire())
    await expectError('LOCKS_CLOSED', () => mutex.tryAcquire())
    await expectError('LOCKS_CLOSED', () => mutex.run(() => undefined))
  },
)

administration.test('close releases no lease of running work', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  let finish!: () => void
  const work = new Promise<void>((resolve) => {
    finish = resolve
  })
  let begun = false
  let aborted = false
  const run = one.mutex(context.name()).run(async (lease) => {
    begun = true
    lease.signal.addEventListener('abort', () => (aborted = true))
    await work
  })
  await context.time.eventually('the work begins', context.slackMs, () => begun)
  const closed = one.close({ graceMs: 20_000 })
  await context.time.eventually('the work is asked to stop', context.slackMs, () => aborted)
  assert.equal(await context.soon(two.mutex(context.name()).tryAcquire()), undefined)
  finish()
  await context.soon(Promise.all([run, closed]))
  await context.soon(two.mutex(context.name()).acquire(), 'the free lock')
})
