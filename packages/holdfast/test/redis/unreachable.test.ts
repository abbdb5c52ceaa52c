/** A connection of the store's own to a server that is away. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { freePorts } from '@holdfast/servers/ports'
import { after } from './support/world.js'

/** Replaces the connection of a client, and does nothing else. */
const PROGRAM = `
const { LIBRARY, PORT, TRANSPORTS } = process.env
const { ioRedisTransport } = await import(TRANSPORTS + 'ioredis/ioredis.js')
const { nodeRedisTransport } = await import(TRANSPORTS + 'node-redis/node-redis.js')
const { Redis, createClient } = await import(LIBRARY)
const transport = Redis
  ? ioRedisTransport(new Redis({ port: Number(PORT), lazyConnect: true }))
  : nodeRedisTransport(createClient({ url: 'redis://127.0.0.1:' + PORT }))
transport.replace()
process.send('replaced', () => process.disconnect())
`

/** How long a process may take to end, in milliseconds. It is 100 when alone. */
const LIMIT_MS = 10_000

test.each(['ioredis5', 'ioredis6', 'redis6'])(
  'does not keep the process alive, through %s',
  async (library) => {
    const [port] = await freePorts(1)
    const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
      cwd: import.meta.dirname,
      env: {
        ...process.env,
        LIBRARY: library,
        PORT: String(port),
        TRANSPORTS: new URL('../../dist/stores/redis/connection/transports/', import.meta.url).href,
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    after(async () => void child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    expect(await once(child, 'message')).toContain('replaced')
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
    const [code] = (await ended) as [number | null]
    clearTimeout(limit)
    expect(code).toBe(0)
  },
)
