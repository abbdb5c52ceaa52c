/**
 * Entries that a later version of Holdfast made: a process that does not know them refuses, and
 * leaves them as they are.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startZooKeeper, type ZooKeeperEnsemble } from '@holdfast/servers/zookeeper'
import { parentOf } from '../../dist/stores/zookeeper/keys.js'
import type { ZooKeeperSession } from '../../dist/stores/zookeeper/session/session.js'
import { readNode } from '../../dist/stores/zookeeper/queue/tree.js'
import { create, FLAGS } from '../../dist/stores/zookeeper/wire/messages.js'
import { makeClaim, nodesOf, TRY, openRaw, openStore, QUEUE } from './support/world.js'

let ensemble: ZooKeeperEnsemble
let raw: ZooKeeperSession

beforeAll(async () => {
  ensemble = await startZooKeeper()
  raw = await openRaw(ensemble.connect)
})
afterAll(async () => {
  await raw.end()
  await ensemble.stop()
})

const refused = {
  code: 'STORE_FORMAT',
  message: expect.stringContaining('Update Holdfast') as string,
}

/** Makes an entry among those of a lock. */
async function enter(lock: string, name: string, data: string): Promise<string> {
  const store = openStore({ connect: ensemble.connect })
  const first = makeClaim(lock)
  await store.attempt(first, QUEUE)
  await store.withdraw(first)
  const request = create(`${parentOf(lock)}/${name}`, data, FLAGS.ephemeralSequential, false)
  return (await raw.ask(request)).path
}

test('an entry of an unknown shape is refused, and the own entry taken out again', async () => {
  const path = await enter('shape', 'x2+1+later+', 'foreign')
  const store = openStore({ connect: ensemble.connect })
  for (const how of [TRY, QUEUE]) {
    await expect(store.attempt(makeClaim('shape'), how)).rejects.toMatchObject(refused)
  }
  await expect(store.inspect(['shape'])).rejects.toMatchObject(refused)
  await expect(store.steal('shape', { now: true })).rejects.toMatchObject(refused)
  expect(await nodesOf(raw, 'shape')).toEqual([path.split('/').at(-1)])
  expect((await readNode(raw, path))?.text).toBe('foreign')
})

test('an entry of a later format is refused where it is read', async () => {
  const data = JSON.stringify({ format: 2, kind: 'mutex' })
  const path = await enter('data', 'w+2147483647+later+', data)
  const store = openStore({ connect: ensemble.connect })
  const reader = makeClaim('data', { kind: 'readWriteLock', weight: 1 })
  await expect(store.attempt(reader, QUEUE)).rejects.toMatchObject(refused)
  await expect(store.inspect(['data'])).rejects.toMatchObject(refused)
  await expect(store.steal('data', { now: true })).rejects.toMatchObject(refused)
  // A claim that wants all of the lock goes by names alone: it stays out.
  expect(await store.attempt(makeClaim('data'), TRY)).toMatchObject({ outcome: 'busy' })
  expect(await nodesOf(raw, 'data')).toEqual([path.split('/').at(-1)])
  expect((await readNode(raw, path))?.text).toBe(data)
})

test('an entry says its format', async () => {
  const store = openStore({ connect: ensemble.connect })
  await store.attempt(makeClaim('says'), TRY)
  const [name = ''] = await nodesOf(raw, 'says')
  expect(
    JSON.parse((await readNode(raw, `${parentOf('says')}/${name}`))?.text ?? ''),
  ).toMatchObject({
    format: 1,
  })
})

test('an entry of an unknown shape behind a holder costs it nothing', async () => {
  const store = openStore({ connect: ensemble.connect })
  const claim = makeClaim('behind')
  await store.attempt(claim, TRY)
  await raw.ask(create(`${parentOf('behind')}/x2+1+later+`, '', FLAGS.ephemeralSequential, false))
  expect(await store.renew([claim])).toEqual([{ outcome: 'renewed' }])
  expect(await store.withdraw(claim)).toBe('released')
})
