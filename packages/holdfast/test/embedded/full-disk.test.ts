/**
 * A full disk: a retry can help, so the store gives up no withdrawal.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocks, type Locks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { neighbourOf } from './support/world.js'

const root = process.platform === 'linux' && process.getuid?.() === 0
const folder = mkdtempSync(join(tmpdir(), 'holdfast-full-'))

beforeAll(() => {
  if (root)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=0700', 'holdfast-test', folder])
})

afterAll(() => {
  if (root) execFileSync('umount', ['--lazy', folder])
  rmSync(folder, { recursive: true, force: true })
})

/** Writes until nothing more fits, and gives what makes room again. */
function fill(): () => void {
  const path = join(folder, 'ballast')
  const file = openSync(path, 'w')
  try {
    for (;;) writeSync(file, Buffer.alloc(4096))
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' })
  }
  closeSync(file)
  return () => rmSync(path)
}

/** Uses up what room the log of one file has left: each file has a log of its own. */
async function useUp(locks: Locks, sameFileAs: string): Promise<void> {
  const mutex = locks.mutex(neighbourOf(sameFileAs))
  for (let index = 0; index < 20_000; index += 1) await mutex.run(() => undefined, { waitMs: 500 })
}

describe.skipIf(!root)(root ? 'a full disk' : 'a full disk: needs root, for a small tmpfs', () => {
  test('makes the store unavailable, also for a store that opens then, and not misconfigured', async () => {
    const first = createLocks(embeddedStore({ directory: folder }))
    await first.mutex('a').run(() => undefined)
    const makeRoom = fill()
    // Another log may still have room for a step: one of a lock in use writes a single page.
    await expect(useUp(first, 'a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const second = createLocks(embeddedStore({ directory: folder }))
    try {
      const refused = {
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('is full') as string,
      }
      await expect(second.mutex('a').tryAcquire()).rejects.toMatchObject(refused)
    } finally {
      makeRoom()
    }
    await second.mutex('a').run(() => undefined)
    await Promise.all([first.close(), second.close()])
  })
})
