/** How the socket of a store proves whether its process lives. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, statSync } from 'node:fs'
import { createServer, Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { embeddedStore } from 'holdfast/embedded'
import { describe, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import {
  after,
  closing,
  databaseOf,
  makeClaim,
  makeDirectory,
  openRaw,
  take,
} from './support/world.js'

describe.skipIf(process.platform === 'win32')(
  'a store that is closed while its claim still holds',
  () => {
    test('does not look dead in the middle of it', async () => {
      const directory = makeDirectory()
      const store = closing(embeddedStore({ directory }))
      await take(store, makeClaim('a'))
      const answers: string[] = []
      whenServerCloses(() => answers.push(attemptAfterBurials(directory, 'a')))
      await store.close()
      // Its lease is left to expire, since work may still go on under it.
      expect(answers).toEqual(['busy'])
    })
  },
)

describe.skipIf(process.platform === 'win32')('a holder that is a worker of a cluster', () => {
  test('keeps the lock when it is disconnected from the primary', async () => {
    const directory = makeDirectory()
    const primary = spawn(
      process.execPath,
      [join(import.meta.dirname, 'support/cluster.mjs'), directory, JSON.stringify(makeClaim('a'))],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    after(() => primary.kill('SIGKILL'))
    const [said] = (await once(primary.stdout, 'data')) as [Buffer]
    const { outcome, pid } = JSON.parse(String(said)) as { outcome: string; pid: number }
    after(() => process.kill(pid, 'SIGKILL'))
    expect(outcome).toBe('granted')
    const store = closing(embeddedStore({ directory }))
    expect(await store.attempt(makeClaim('a'), { enqueue: false, tokens: 1 })).toMatchObject({
      outcome: 'busy',
    })
  })
})

// So does a process that is out of file descriptors.
describe.skipIf(process.platform === 'win32')('a holder that ends each connection at once', () => {
  test('is asked less and less often whether it lives', async () => {
    const visitsMs: number[] = []
    await waitBehind((visitor) => {
      visitsMs.push(performance.now())
      visitor.destroy()
    })
    await eventually('it was asked a dozen times', () => visitsMs.length >= 14)
    // The pauses double from a millisecond on, and may be half as long. Two looks at most were for
    // the dead of the folder.
    expect((visitsMs[13] ?? 0) - (visitsMs[0] ?? 0)).toBeGreaterThan(400)
  })

  test('is found dead nevertheless', async () => {
    let visits = 0
    const { server, granted } = await waitBehind((visitor) => {
      visits += 1
      visitor.destroy()
    })
    await eventually('it was asked a few times', () => visits >= 6)
    server.close()
    expect(await granted).toBe(true)
  })

  test('is asked at once again when it ends one that stood', async () => {
    const visitsMs: number[] = []
    const { server } = await waitBehind((visitor) => {
      visitsMs.push(performance.now())
      if (visitsMs.length === 12) visitor.setTimeout(1500, () => visitor.destroy())
      else visitor.destroy()
    })
    await eventually('it was asked some times more', () => visitsMs.length >= 16)
    server.close()
    // The pauses begin again. If they still grew, these three would take a second and a quarter.
    expect((visitsMs[15] ?? 0) - (visitsMs[12] ?? 0)).toBeLessThan(1000)
  })
})

/**
 * A claim that waits for one whose peer is another server. Its grant comes by a message, or by a
 * death.
 */
async function waitBehind(onVisit: (visitor: Socket) => void): Promise<{
  readonly server: Server
  readonly granted: Promise<boolean>
}> {
  const directory = makeDirectory()
  await take(closing(embeddedStore({ directory })), makeClaim('a'))
  const server = createServer(onVisit)
  const socket = join(directory, 's', 'other.sock')
  // As a store does it: the end of the server leaves the name.
  server.listen(`${socket}.new`)
  await once(server, 'listening')
  after(() => server.close())
  renameSync(`${socket}.new`, socket)
  const raw = openRaw(databaseOf(directory, 'a'))
  raw.prepare('UPDATE peers SET socket = ?, inode = ?').all(socket, String(statSync(socket).ino))
  raw.close()
  const store = closing(embeddedStore({ directory }))
  // No heartbeat looks at the holder meanwhile.
  const claim = makeClaim('a', { heartbeatMs: 10_000 })
  const granted = new Promise<boolean>((resolve) => void store.watch(claim, () => resolve(true)))
  expect(await store.attempt(claim, { enqueue: true, tokens: 1 })).toMatchObject({
    outcome: 'waiting',
  })
  return { server, granted }
}

/**
 * Returns the answer to an attempt of another process, which cleaned up before, while this process
 * stands still.
 */
function attemptAfterBurials(directory: string, lock: string): string {
  const program = `
    import { embeddedStore } from 'holdfast/embedded'
    const attempt = async (claim) => {
      const store = embeddedStore({ directory: ${JSON.stringify(directory)} })
      const { outcome } = await store.attempt(claim, { enqueue: false, tokens: 1 })
      // A store cleans up with its first lock, and closes after that.
      await store.close()
      return outcome
    }
    await attempt(${JSON.stringify(makeClaim('another lock'))})
    console.log(await attempt(${JSON.stringify(makeClaim(lock))}))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    timeout: 10_000,
  })
  return String(stdout).trim()
}

/**
 * Checks right after a server of this process has stopped listening, within the same tick.
 */
function whenServerCloses(look: () => void): void {
  const { close } = Server.prototype
  after(() => (Server.prototype.close = close))
  Server.prototype.close = function (this: Server, ...rest) {
    const listened = this.listening
    const closed = close.apply(this, rest)
    if (listened) look()
    return closed
  }
}
