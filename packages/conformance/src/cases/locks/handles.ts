/** Handles: a lease passes from one client to another as text. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { slowAnswers } from '../../context.js'
import { codeOf, expectError, outcomeOf } from '../../expect.js'
import { Gate, planFor, planForFirst } from 'holdfast/testing'
import { adopt as canAdopt, readWriteLock, semaphore } from '../../needs.js'

export const handles = new Group('handles', [canAdopt])

handles.test('an exported lease is adopted once, with a larger token', async (context) => {
  const [exporter, adopter] = [await context.locks(), await context.locks()]
  const name = context.name()
  const lease = await exporter.mutex(name).acquire()
  const { token } = lease
  const handle = await lease.export()
  assert.equal(lease.held, false)
  assert.equal(await lease.release(), 'lost')
  const adopted = await adopter.mutex(name).adopt(handle)
  assert.equal(adopted.held, true)
  assert.ok(adopted.token > token, `token ${adopted.token} came after ${token}`)
  assert.equal(await exporter.mutex(name).tryAcquire(), undefined)
  await expectError('LOCK_LOST', () => exporter.mutex(name).adopt(handle))
  assert.equal(await adopted.release(), 'released')
  await expectError('LOCK_LOST', () => adopter.mutex(name).adopt(handle))
})

handles.test('closing the exporter does not release an exported lease', async (context) => {
  const [exporter, adopter] = [await context.locks(), await context.locks()]
  const handle = await (await exporter.mutex(context.name()).acquire()).export()
  await exporter.close()
  assert.equal(await adopter.mutex(context.name()).tryAcquire(), undefined)
  await adopter.renewHandle(handle)
  const lease = await adopter.mutex(context.name()).adopt(handle)
  await lease.renew()
  await lease.release()
})

handles.test('a run whose lease was exported resolves, and releases nothing', async (context) => {
  const [exporter, adopter] = [await context.locks(), await context.locks()]
  const handle = await exporter.mutex(context.name()).run((lease) => lease.export())
  assert.equal(await adopter.mutex(context.name()).tryAcquire(), undefined)
  assert.equal(await adopter.releaseHandle(handle), 'released')
  assert.equal(await adopter.releaseHandle(handle), 'released')
  assert.ok(await adopter.mutex(context.name()).tryAcquire())
})

handles.test(
  'callers that wait behind an exported lease get the lock after it',
  async (context) => {
    const locks = await context.locks()
    const mutex = locks.mutex(context.name())
    const first = await mutex.acquire()
    const second = context.later(mutex.acquire())
    const handle = await first.export()
    assert.equal(await locks.releaseHandle(handle), 'released')
    const lease = await context.soon(second)
    assert.ok(lease.held)
    await lease.release()
  },
)

handles.test('a handle that was adopted cannot be renewed or released', async (context) => {
  const [exporter, adopter] = [await context.locks(), await context.locks()]
  const handle = await (await exporter.mutex(context.name()).acquire()).export()
  const lease = await adopter.mutex(context.name()).adopt(handle)
  await expectError('LOCK_LOST', () => exporter.renewHandle(handle))
  assert.equal(await exporter.releaseHandle(handle), 'lost')
  assert.equal(lease.held, true)
  await lease.renew()
})

handles.test(
  'a damaged handle, or one of another lock, is refused and harms nothing',
  async (context) => {
    const locks = await context.locks()
    const handle = await (await locks.mutex(context.name()).acquire()).export()
    const other = locks.mutex(context.name('other'))
    const damaged = [
      '',
      handle.slice(0, -1),
      `${handle}x`,
      handle.replace('hf1', 'hf9'),
      handle.slice(5),
    ]
    for (const text of damaged) await expectError('LOCK_USAGE', () => other.adopt(text))
    await expectError('LOCK_USAGE', () => other.adopt(handle))
    await expectError('LOCK_USAGE', () => other.adopt(7 as unknown as string))
    for (const text of damaged) await expectError('LOCK_USAGE', () => locks.renewHandle(text))
    assert.equal(await locks.releaseHandle(handle), 'released')
  },
)

handles.test(
  'a handle of a mutex is refused by a semaphore',
  async (context) => {
    const locks = await context.locks()
    const handle = await (await locks.mutex(context.name()).acquire()).export()
    await expectError('LOCK_MISMATCH', () =>
      locks.semaphore(context.name(), { permits: 2 }).adopt(handle),
    )
    assert.equal(await locks.releaseHandle(handle), 'released')
  },
  { needs: [semaphore] },
)

handles.test(
  'the handle of a reader is refused by a writer, and the reverse',
  async (context) => {
    const locks = await context.locks()
    const { read, write } = locks.readWriteLock(context.name())
    const [one, other] = [await read.acquire(), await read.acquire()]
    const ofReader = await one.export()
    await expectError('LOCK_USAGE', () => write.adopt(ofReader))
    await (await read.adopt(ofReader)).release()
    await other.release()
    const writer = await write.acquire()
    const ofWriter = await writer.export()
    await expectError('LOCK_USAGE', () => read.adopt(ofWriter))
    const lease = await write.adopt(ofWriter)
    await lease.downgrade()
    const ofDowngraded = await lease.export()
    await expectError('LOCK_USAGE', () => write.adopt(ofDowngraded))
    assert.equal(await (await read.adopt(ofDowngraded)).release(), 'released')
  },
  { needs: [readWriteLock] },
)

handles.test(
  'an adoption whose answer is lost is repeated with the same claim',
  async (context) => {
    const exporter = await context.locks()
    const handle = await (await exporter.mutex(context.name()).acquire()).export()
    const { locks, store } = await context.faulty(
      planForFirst('adopt', { drop: 'reply', fails: true }),
      slowAnswers(context),
    )
    const lease = await context.soon(locks.mutex(context.name()).adopt(handle))
    assert.equal(store.count('adopt'), 2)
    assert.equal(lease.held, true)
    assert.equal(await lease.release(), 'released')
  },
)

handles.test(
  'close ends an adoption in flight, and leaves nothing in the store',
  async (context) => {
    const exporter = await context.locks()
    const handle = await (await exporter.mutex(context.name()).acquire()).export()
    const gate = new Gate()
    const plan = planFor({ adopt: { holdReply: gate.opened } })
    const { locks, store } = await context.faulty(plan)
    const adopted = outcomeOf(locks.mutex(context.name()).adopt(handle))
    await context.time.eventually('an adoption', 5_000, () => store.count('adopt') > 0)
    await context.time.pass(30)
    await context.soon(locks.close())
    assert.equal(codeOf(await context.soon(adopted)), 'LOCKS_CLOSED')
    // The withdrawal may have been faster: then the lease is still exported.
    await exporter.releaseHandle(handle)
    await context.soon(exporter.mutex(context.name()).acquire(), 'the free lock')
    gate.open()
  },
)

handles.test('an export whose answer is lost is repeated with the same claim', async (context) => {
  const plan = planForFirst('adopt', { drop: 'reply', fails: true })
  const { locks } = await context.faulty(plan, { ttlMs: context.longMs, ...slowAnswers(context) })
  const handle = await (await locks.mutex(context.name()).acquire()).export()
  const adopter = await context.locks()
  const lease = await adopter.mutex(context.name()).adopt(handle)
  assert.equal(await lease.release(), 'released')
})
