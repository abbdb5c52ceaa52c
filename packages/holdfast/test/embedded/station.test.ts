/** What a station does to those who judge by it whether its process lives. */
import { spawnSync } from 'node:child_process'
import { Server } from 'node:net'
import { embeddedStore } from 'holdfast/embedded'
import { describe, expect, test } from 'vitest'
import { after, closing, makeClaim, makeDirectory, take } from './support/world.js'

describe.skipIf(process.platform === 'win32')('a store that is closed while its claim still holds', () => {
  test('is dead to nobody who looks in the middle of it', async () => {
    const directory = makeDirectory()
    const store = closing(embeddedStore({ directory }))
    await take(store, makeClaim('a'))
    const answers: string[] = []
    whenServerCloses(() => answers.push(attemptAfterBurials(directory, 'a')))
    await store.close()
    // Its lease is left to expire, since work may still go on under it.
    expect(answers).toEqual(['busy'])
  })
})

/** What an attempt is answered in another process that has buried the dead before, while this one stands still. */
function attemptAfterBurials(directory: string, lock: string): string {
  const program = `
    import { embeddedStore } from 'holdfast/embedded'
    const attempt = async (claim) => {
      const store = embeddedStore({ directory: ${JSON.stringify(directory)} })
      const { outcome } = await store.attempt(claim, { enqueue: false, tokens: 1 })
      // A store looks for the dead with its first lock, and ends when it has buried them.
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

/** Looks right after a server of this process has stopped listening, before the same turn goes on. */
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
