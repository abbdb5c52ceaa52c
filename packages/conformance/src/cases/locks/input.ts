/** Bad input: each kind is refused with a typed error, without a request to the store. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import { expectError } from '../../expect.js'

export const input = new Group('bad input')

const BAD_NAMES: readonly unknown[] = [
  '',
  'a\0b',
  'line\nbreak',
  '\u007f',
  'x'.repeat(513),
  'x'.repeat(10_240),
  '🔒'.repeat(129),
  '\ud800',
  undefined,
  null,
  42,
  {},
]

input.test('invalid names are refused', async (context) => {
  const { store, locks } = await context.faulty(() => ({}))
  for (const name of BAD_NAMES as readonly string[]) {
    await expectError('LOCK_USAGE', () => locks.mutex(name).acquire())
  }
  assert.equal(store.sent.length, 0)
})

input.test('invalid durations are refused', async (context) => {
  const { store, locks } = await context.faulty(() => ({}))
  const name = context.name()
  for (const ttlMs of [0, -1, NaN, Infinity, '30' as unknown as number]) {
    await expectError('LOCK_USAGE', () => locks.mutex(name, { ttlMs }).acquire())
  }
  for (const waitMs of [-1, NaN, '5' as unknown as number]) {
    await expectError('LOCK_USAGE', () => locks.mutex(name).acquire({ waitMs }))
  }
  for (const maxHoldMs of [0, -1, NaN]) {
    await expectError('LOCK_USAGE', () => locks.mutex(name, { maxHoldMs }).acquire())
  }
  assert.equal(store.sent.length, 0)
})

input.test('invalid limits of inspect are refused', async (context) => {
  const { store, locks } = await context.faulty(() => ({}))
  for (const limit of [0, -1, 1.5, NaN, Infinity, '5' as unknown as number]) {
    await expectError('LOCK_USAGE', () => locks.inspect({ limit }))
  }
  assert.equal(store.sent.length, 0)
})

input.test("a TTL outside of the store's range is refused", async (context) => {
  const [shortest, longest] = context.subject.traits.ttlRangeMs
  const locks = await context.locks()
  if (shortest > 50) {
    await expectError('UNSUPPORTED', () =>
      locks.mutex(context.name(), { ttlMs: shortest - 1 }).acquire(),
    )
  }
  if (longest < Number.MAX_SAFE_INTEGER) {
    await expectError('UNSUPPORTED', () =>
      locks.mutex(context.name(), { ttlMs: longest + 1 }).acquire(),
    )
  }
})

input.test('a hostile name works through the whole API', async (context) => {
  const locks = await context.locks({ namespace: context.name('{ns} %*') })
  for (const name of ['__proto__', "'; drop table locks; --", '🔒 {a}/..\\%_*?[b]', ' ']) {
    const lease = await context.soon(locks.mutex(name).acquire())
    assert.equal(await context.soon(locks.mutex(name).tryAcquire()), undefined)
    assert.equal(await context.soon(lease.release()), 'released')
  }
})
