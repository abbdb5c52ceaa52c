/**
 * Free locks without a server, in one process: `embedded-free.js holdfast|proper-lockfile LOOPS
 * RUN_MS`, each loop on a lock of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { lock } from 'proper-lockfile'
import { runFree } from '../free.js'
import type { Locker } from '../locker.js'

const [subject = 'holdfast', loops = '1', runMs = '1500'] = process.argv.slice(2)
const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))

function holdfast(): Locker {
  const locks = createLocks(embeddedStore({ directory }))
  return (name) => {
    const mutex = locks.mutex(name)
    return async () => {
      const lease = await mutex.acquire()
      return () => lease.release()
    }
  }
}

const properLockfile: Locker = (name) => () => lock(join(directory, name), { realpath: false })

await runFree(subject === 'holdfast' ? holdfast() : properLockfile, Number(loops), {
  runMs: Number(runMs),
})
