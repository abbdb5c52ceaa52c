/** What a client that was closed leaves behind in its process. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { startEtcd } from '@holdfast/servers/etcd'
import { after } from './support/world.js'

/** Holds a lock, waits for it, and at a message closes the client. */
const PROGRAM = `
import { createLocks } from 'holdfast'
import { etcdStore } from 'holdfast/etcd'
const locks = createLocks(etcdStore({ endpoints: [process.env.ENDPOINT] }), { ttlMs: 5000 })
const lease = await locks.mutex('left').acquire()
locks.mutex('left').acquire().catch(() => undefined)
process.send('holds')
process.once('message', async () => {
  lease.renew().catch(() => undefined)
  lease.release().catch(() => undefined)
  await locks.close({ graceMs: 0 })
  process.send('closed', () => process.disconnect())
})
`

/** How long a process may take to end after the close, in milliseconds. It is 100 when alone. */
const LIMIT_MS = 5_000

async function heard(child: ChildProcess, word: string): Promise<void> {
  const [message] = (await once(child, 'message')) as [unknown]
  expect(message).toBe(word)
}

test.each(['answers', 'stands still'])(
  'a process ends soon after close where the server %s',
  { timeout: 60_000 },
  async (server) => {
    const cluster = await startEtcd()
    after(() => cluster.stop())
    const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
      cwd: import.meta.dirname,
      env: { ...process.env, ENDPOINT: cluster.endpoints[0] ?? '' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    after(async () => void child.kill('SIGKILL'))
    await heard(child, 'holds')
    if (server === 'stands still') await cluster.members[0]?.pause()
    child.send('close')
    await heard(child, 'closed')
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
    const [code] = (await once(child, 'exit')) as [number | null]
    clearTimeout(limit)
    expect(code).toBe(0)
  },
)
