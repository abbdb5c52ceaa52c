/**
 * What processes leave that end without closing: those that come later take it away, a little each.
 */
import { inspectPage } from 'holdfast/internal'
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { embeddedStore } from 'holdfast/embedded'
import { describe, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { Worker } from './support/workers.js'
import {
  closing,
  databaseOf,
  databasesIn,
  makeClaim,
  makeDirectory,
  openRaw,
  take,
} from './support/world.js'

describe.skipIf(process.platform === 'win32')('processes that ended without closing', () => {
  test('do not pile up, however short the others live', () => {
    const directory = makeDirectory()
    for (let run = 0; run < 6; run += 1) endWithoutClosing(directory, 1)
    // No store came after the last one.
    expect(sockets(directory)).toHaveLength(1)
    expect(rows(directory)).toHaveLength(1)
  })

  test('are removed some at a time', async () => {
    const directory = makeDirectory()
    endWithoutClosing(directory, 40)
    expect(sockets(directory)).toHaveLength(40)
    const store = embeddedStore({ directory })
    await take(store, makeClaim('a'))
    // Besides, there is its own.
    await eventually('some are removed', () => sockets(directory).length < 41)
    await store.close()
    expect(sockets(directory).length).toBeGreaterThan(20)
    expect(sockets(directory).toSorted()).toEqual(rows(directory).toSorted())
    await eventually('all are removed', async () => {
      const next = embeddedStore({ directory })
      const claim = makeClaim('b')
      await take(next, claim)
      await next.withdraw(claim)
      await next.close()
      return sockets(directory).length === 0
    })
    expect(rows(directory)).toEqual([])
  })

  test('whose rows are gone with an earlier database as well', async () => {
    const directory = makeDirectory()
    endWithoutClosing(directory, 3)
    const raw = openRaw(databaseOf(directory, 'a'))
    raw.exec('DELETE FROM peers')
    raw.close()
    await take(closing(embeddedStore({ directory })), makeClaim('a'))
    await eventually('only our own is left', () => sockets(directory).length === 1)
  })

  test('release what they held, and live stores keep their locks', async () => {
    const directory = makeDirectory()
    const [stopped, dead] = [new Worker(directory), new Worker(directory)]
    await stopped.ask('acquire', { lock: 'stopped' })
    await dead.ask('acquire', { lock: 'dead' })
    void stopped.ask('freeze')
    await dead.kill()
    const store = closing(embeddedStore({ directory }))
    await take(store, makeClaim('other'))
    await eventually('the dead one holds nothing', async () => {
      const { locks } = await inspectPage(store, { prefix: '', limit: 10 })
      return !locks.some(({ lock }) => lock === 'dead')
    })
    const { locks } = await inspectPage(store, { prefix: '', limit: 10 })
    expect(locks.map(({ lock }) => lock)).toEqual(['other', 'stopped'])
    await eventually('only the living have sockets', () => sockets(directory).length === 2)
    expect(rows(directory)).toHaveLength(2)
  })
})

/** Runs a process in which this many stores take a lock and release it. */
function endWithoutClosing(directory: string, stores: number): void {
  const program = `
    import { createLocks } from 'holdfast'
    import { embeddedStore } from 'holdfast/embedded'
    for (let index = 0; index < ${stores}; index += 1) {
      await createLocks(embeddedStore({ directory: ${JSON.stringify(directory)} })).mutex('a').run(() => 0)
    }`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
}

function sockets(directory: string): string[] {
  return readdirSync(join(directory, 's')).map((name) => name.replace('.sock', ''))
}

function rows(directory: string): string[] {
  const found = databasesIn(directory).flatMap((path) => {
    const raw = openRaw(path)
    const peers = raw.prepare('SELECT id FROM peers').all()
    raw.close()
    return peers.map(({ id }) => String(id))
  })
  return [...new Set(found)]
}
