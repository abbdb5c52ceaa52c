/** The folder beside a path has files for each boot, and refuses other boots at the same time. */
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from 'holdfast/store'
import { lockPath } from 'holdfast/embedded'
import { expect, test } from 'vitest'
import { closing, makeClaim, makeDirectory, makeMachine, openOn, take } from '../support/world.js'
import { openBeside } from '../../../dist/stores/embedded/folder/beside-folder.js'

test('after a reboot no lock is held, and the files of the earlier boot are removed', async () => {
  const directory = makeState()
  const before = openAt(directory, 'before')
  const claim = makeClaim('a', { ttlMs: 3_600_000 })
  await take(before, claim)
  // A detached claim outlives its process, but not the boot.
  await before.adopt?.({ from: claim, to: { ...claim, id: 'detached.1' }, detached: true } as never)
  const [earlier] = bootsOf(directory)
  await before.close()
  const later = openAt(directory, 'later')
  await take(later, makeClaim('a'))
  const boots = bootsOf(directory)
  expect(boots).toHaveLength(1)
  expect(boots).not.toContain(earlier)
})

test('of two boots at once the second is refused until the first has closed', async () => {
  const directory = makeState()
  const [one, other] = [openAt(directory, 'one'), openAt(directory, 'other')]
  const claim = makeClaim('a')
  await take(one, claim)
  const refused = { code: 'STORE_CONFIG', message: expect.stringContaining('another boot') }
  await expect(take(other, makeClaim('a'))).rejects.toMatchObject(refused)
  await expect(take(other, makeClaim('b'))).rejects.toMatchObject(refused)
  // A process that was refused keeps no other one out.
  const third = openAt(directory, 'one')
  expect(await third.attempt(makeClaim('a'), { enqueue: false, tokens: 1 })).toMatchObject({
    outcome: 'busy',
  })
  expect(await one.withdraw(claim)).toBe('released')
  await Promise.all([one.close(), third.close()])
  await take(other, makeClaim('a'))
})

test('of two boots that begin at once never both get the lock', async () => {
  for (let round = 0; round < 5; round += 1) {
    const directory = makeState()
    const stores = ['one', 'other'].map((boot) => openAt(directory, boot))
    const taken = await Promise.allSettled(stores.map((store) => take(store, makeClaim('a'))))
    expect(taken.filter(({ status }) => status === 'fulfilled').length).toBeLessThan(2)
    for (const store of stores) await store.close()
  }
})

test('a boot has a folder of its own, and boots without a name share one', async () => {
  for (const [bootId, name] of [
    ['a boot', /^[0-9a-f]{16}$/],
    ['a boot without a name', /^any$/],
  ] as const) {
    const directory = makeState()
    await take(openAt(directory, bootId), makeClaim('a'))
    expect(bootsOf(directory)).toEqual([expect.stringMatching(name)])
  }
})

test('a network file system is refused with its name, and gets no folder', () => {
  const parent = makeDirectory()
  for (const [type, name] of [
    [0x6969, 'NFS'],
    [0xfe534d42, 'SMB2'],
    [0x01021997, '9P'],
    [0x7461636f, 'OCFS2'],
  ] as const) {
    const machine = makeMachine({ fileSystemType: () => type })
    expect(() => openBeside(parent, machine)).toThrow(
      `The folder ${parent} is on a network file system (${name})`,
    )
  }
  expect(readdirSync(parent)).toEqual([])
})

test('what a process leaves that is killed while it makes a file is removed', async () => {
  const parent = makeDirectory()
  const path = join(parent, 'file')
  await lockPath(path).run(() => undefined)
  const [boot = ''] = bootsOf(join(parent, '.holdfast'))
  const root = join(parent, '.holdfast', boot)
  const old = new Date(Date.now() - 3_600_000)
  const left = ['locks-3.db.0123456789abcdefghij_-', 's/0123456789a.new', 's/new-abcdef']
  const fresh = ['locks-4.db.0123456789abcdefghij_-', 's/new-fresh1']
  for (const name of [...left, ...fresh]) {
    if (name.startsWith('s/new-')) mkdirSync(join(root, name))
    else writeFileSync(join(root, name), '')
  }
  writeFileSync(join(root, 's/new-abcdef', '0123456789a.new'), '')
  for (const name of left) utimesSync(join(root, name), old, old)
  const store = openAt(join(parent, '.holdfast'))
  await take(store, makeClaim('a'))
  await store.close()
  const remains = (name: string): boolean => existsSync(join(root, name))
  expect([left.filter(remains), fresh.filter(remains)]).toEqual([[], fresh])
})

function makeState(): string {
  return join(makeDirectory(), '.holdfast')
}

/** A store at the folder, as the command line opens it; without a boot, in the real one. */
function openAt(directory: string, bootId?: string): Store {
  return closing(
    openOn({
      directory,
      ...(bootId === undefined ? {} : { machine: makeMachine({ bootId }) }),
    } as never),
  )
}

function bootsOf(directory: string): string[] {
  return readdirSync(directory).filter((name) => name !== '.gitignore')
}
