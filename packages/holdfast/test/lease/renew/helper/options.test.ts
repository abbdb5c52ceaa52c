/** The options of a worker that renews, and the stores that it can and cannot open. */
import { createLocks, LockUsageError, UnsupportedLockError } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { memoryStore } from 'holdfast/memory'
import { redisStore } from 'holdfast/redis'
import { VirtualClock } from 'holdfast/testing'
import { openStore } from 'holdfast/url'
import { Redis } from 'ioredis'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { after } from '../../../../../../test/support/after.js'

const WORKER = { renewFrom: 'worker', blockedAtMostMs: 60_000 } as const

function folderStore() {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-options-'))
  after(() => rmSync(directory, { recursive: true, force: true }))
  return embeddedStore({ directory })
}

test.each<[name: string, options: object, text: RegExp]>([
  ['no blockedAtMostMs', { renewFrom: 'worker' }, /needs blockedAtMostMs.*no default/],
  ['another place', { renewFrom: 'thread', blockedAtMostMs: 1 }, /must be 'worker', not "thread"/],
  ['an endless block', { ...WORKER, blockedAtMostMs: Infinity }, /must be finite/],
  ['no time', { ...WORKER, blockedAtMostMs: 0 }, /at least 1 ms/],
  ['a limit alone', { blockedAtMostMs: 1000 }, /blockedAtMostMs is an option of renewFrom/],
  ['a module alone', { workerStore: '/a.js' }, /workerStore is an option of renewFrom/],
  ['a store for a module', { ...WORKER, workerStore: {} }, /the path or the file: URL of a module/],
  ['no name of a module', { ...WORKER, workerStore: '' }, /of a module, not ""/],
  [
    'a module elsewhere',
    { ...WORKER, workerStore: new URL('http://h/a.js') },
    /not http:\/\/h\/a.js/,
  ],
  ['a module in a URL', { ...WORKER, workerStore: 'data:text/javascript,1' }, /not "data:/],
  ['a clock', { ...WORKER, clock: new VirtualClock() }, /works by the system's clock/],
])('createLocks refuses %s', (_name, options, text) => {
  const make = () => createLocks(folderStore(), options)
  expect(make).toThrow(LockUsageError)
  expect(make).toThrow(text)
})

test('a client that was passed in is refused, with the ways out', () => {
  const client = new Redis({ lazyConnect: true })
  after(() => client.disconnect())
  const make = () => createLocks(redisStore({ client }), WORKER)
  expect(make).toThrow(LockUsageError)
  expect(make).toThrow(/client of this redis store was passed in.*openStore.*workerStore/)
})

test('stores whose leases end with a process or a session are refused', async () => {
  expect(() => createLocks(memoryStore(), WORKER)).toThrow(UnsupportedLockError)
  const etcd = await openStore('etcd://127.0.0.1:1')
  after(() => etcd.close())
  expect(() => createLocks(etcd, WORKER)).toThrow(/session of the connection/)
})

test('a refused client leaves the store to the others', async () => {
  const store = folderStore()
  expect(() => createLocks(store, { renewFrom: 'worker' })).toThrow(LockUsageError)
  const locks = createLocks(store)
  await locks.mutex('a').run(() => undefined)
  await locks.close()
})
