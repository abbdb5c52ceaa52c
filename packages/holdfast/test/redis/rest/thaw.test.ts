/** A function that is frozen under a lease, as AWS Lambda freezes it after an answer. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { expect, test } from 'vitest'
import { after, openOver, startBridge } from './world.js'

const TTL_MS = 2000

/** It looks at its lease in the first moment after a time in which no timer ran. */
function programOf(url: string, token: string): string {
  return `
    import { createLocks } from 'holdfast'
    import { redisStore } from 'holdfast/redis'
    const locks = createLocks(redisStore(${JSON.stringify({ url, token })}))
    const lease = await locks.mutex('a').acquire({ ttlMs: ${TTL_MS}, renew: false })
    let isShown = false
    let lastMs = performance.now()
    const look = setInterval(async () => {
      const isThawed = performance.now() - lastMs > ${TTL_MS}
      lastMs = performance.now()
      if (!isShown) console.log('held', lease.held)
      isShown = true
      if (!isThawed) return
      clearInterval(look)
      console.log('thawed', lease.held)
      console.log('release', await lease.release())
      await locks.close()
    }, 20)`
}

test.skipIf(process.platform === 'win32')(
  'a function that thaws after its lease finds it lost, and another one has the lock',
  async () => {
    const bridge = await startBridge()
    const args = ['--input-type=module', '-e', programOf(bridge.url, bridge.token)]
    const child = spawn(process.execPath, args, {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    after(() => child.kill('SIGKILL'))
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const next = async (): Promise<unknown> => (await lines.next()).value
    expect(await next()).toBe('held true')
    child.kill('SIGSTOP')
    const others = createLocks(openOver(bridge))
    after(() => others.close())
    const lease = await others.mutex('a').acquire({ waitMs: 10_000 })
    await delay(TTL_MS)
    child.kill('SIGCONT')
    expect(await next()).toBe('thawed false')
    expect(await next()).toBe('release lost')
    expect(lease.held).toBe(true)
    await lease.release()
  },
)
