/** Who may lock a path, and what the folder beside it lets them do. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { lockPath } from 'holdfast/embedded'
import { describe, expect, test } from 'vitest'
import { isFull } from '../../../../../test/support/plan.js'
import { makeDirectory } from '../support/world.js'
import { alice, bob, canChangeUser, makeFolder, root, stranger } from './support/users.js'
import { PathWorker, type Place } from './support/workers.js'

describe.skipIf(!canChangeUser || !isFull())('the folder beside a path', () => {
  test.each([
    [0o700, '700'],
    [0o755, '700'],
    [0o775, '770'],
    [0o2770, '770'],
    [0o777, '777'],
    [0o1777, '777'],
    [0o773, '773'],
  ])('in one of mode %o lets those in who may write there', async (mode, expected) => {
    const folder = makeFolder(mode)
    const path = join(folder, 'file')
    expect(await acquireAs(alice, path)).toMatchObject({ token: expect.any(String) })
    const found = statSync(join(folder, '.holdfast'))
    expect([found.uid, found.gid]).toEqual([alice.uid, alice.gid])
    // A class without the right to read gets it: the state is nothing to look at.
    expect((found.mode & 0o7777).toString(8)).toBe(expected === '773' ? '777' : expected)
  })

  test('follows when its owner locks after a change of mode', async () => {
    const folder = makeFolder(0o755)
    const path = join(folder, 'file')
    await acquireAs(alice, path)
    chmodSync(folder, 0o775)
    expect(await acquireAs(bob, path)).toMatchObject({ code: 'STORE_CONFIG' })
    await acquireAs(alice, path)
    expect(await acquireAs(bob, path)).toMatchObject({ token: expect.any(String) })
  })

  test('another user who may not write there gets a typed error, and no lock', async () => {
    const folder = makeFolder(0o755)
    const path = join(folder, 'file')
    expect(await acquireAs(stranger, path)).toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringMatching(/EACCES.*needs write access to the folder/s),
    })
    expect(readdirSync(folder)).toEqual([])
    const holder = new PathWorker(alice)
    await holder.ask('acquire', { path })
    for (const user of [bob, stranger])
      expect(await acquireAs(user, path)).toMatchObject({ code: 'STORE_CONFIG' })
    await holder.kill()
    expect(await acquireAs(stranger, path)).toMatchObject({ code: 'STORE_CONFIG' })
  })

  test('two users exclude each other, and each sees the death of the other at once', async () => {
    const folder = makeFolder(0o2770, { uid: 0, gid: alice.gid })
    const path = join(folder, 'file')
    for (const [first, second] of [
      [alice, bob],
      [bob, alice],
      [alice, root],
      [root, bob],
    ]) {
      const [holder, waiter] = [new PathWorker(first), new PathWorker(second)]
      const { token } = await holder.ask('acquire', { path })
      expect(await waiter.ask('tryAcquire', { path })).toEqual({ granted: false })
      await holder.kill()
      // Without proof of the death it would have to wait for the lease.
      expect(await waiter.ask('tryAcquire', { path })).toEqual({ granted: true })
      await waiter.ask('release', { path })
      const next = await waiter.ask('acquire', { path })
      expect(BigInt(String(next['token']))).toBeGreaterThan(BigInt(String(token)))
      await waiter.kill()
    }
  })

  test('made by root belongs to the owner of the folder around it', async () => {
    const folder = makeFolder(0o755)
    const path = join(folder, 'file')
    const lease = await lockPath(path).acquire()
    expect(statSync(join(folder, '.holdfast'))).toMatchObject(alice)
    const other = new PathWorker(alice)
    expect(await other.ask('tryAcquire', { path })).toEqual({ granted: false })
    await lease.release()
    expect(await other.ask('tryAcquire', { path })).toEqual({ granted: true })
  })

  test('with a name that a user gave another folder keeps its mode and its owner', async () => {
    const folder = makeFolder(0o777)
    const foreign = join(folder, '.holdfast')
    mkdirSync(foreign, { mode: 0o700 })
    writeFileSync(join(foreign, 'secret'), '')
    await lockPath(join(folder, 'file')).run(() => undefined)
    expect(statSync(foreign)).toMatchObject({ uid: 0, mode: 0o40700 })
  })
})

test.skipIf(process.platform === 'win32')('a link of that name is refused', async () => {
  const [folder, elsewhere] = [makeDirectory(), makeDirectory()]
  symlinkSync(elsewhere, join(folder, '.holdfast'))
  await expect(lockPath(join(folder, 'file')).acquire()).rejects.toMatchObject({
    code: 'STORE_CONFIG',
  })
  expect(readdirSync(elsewhere)).toEqual([])
  expect(lstatSync(join(folder, '.holdfast')).isSymbolicLink()).toBe(true)
})

test('a file of that name is refused', async () => {
  const folder = makeDirectory()
  writeFileSync(join(folder, '.holdfast'), '')
  await expect(lockPath(join(folder, 'file')).acquire()).rejects.toMatchObject({
    code: 'STORE_CONFIG',
  })
})

test.skipIf(!canChangeUser || !isFull())('a folder that may only be read is refused', async () => {
  const folder = makeFolder(0o555)
  expect(await acquireAs(alice, join(folder, 'file'))).toMatchObject({
    code: 'STORE_CONFIG',
    message: expect.stringContaining('EACCES'),
  })
})

/** Takes the lock in a process of the user, which is killed then. */
async function acquireAs(user: Place, path: string): Promise<unknown> {
  const worker = new PathWorker(user)
  const answer = await worker.ask('acquire', { path })
  await worker.kill()
  return answer
}
