/** Stores by URL: what is opened, what is loaded for it, and what closes with it. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { startPostgres, type PostgresServer } from '@holdfast/servers/postgres'
import { createLocks, LockUsageError } from '../../dist/index.js'
import { openStore } from '../../dist/url/index.js'
import { migratePostgres } from '../../dist/stores/postgres/index.js'
import { loadClient } from '../../dist/url/client-library.js'
import { openPostgresPool } from '../../dist/url/postgres.js'

const MODULES = fileURLToPath(new URL('../../../../node_modules/', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-open-'))
const socket = join(folder, 'redis.sock')
let redis: RedisServer
let postgres: PostgresServer

beforeAll(async () => {
  redis = await startRedis({ password: 'sesame', config: [['unixsocket', socket]] })
  postgres = await startPostgres()
  for (const name of ['ioredis', 'redis']) {
    mkdirSync(join(folder, name, 'node_modules'), { recursive: true })
    symlinkSync(`${MODULES}${name}6`, join(folder, name, 'node_modules', name))
  }
})

afterAll(async () => {
  await redis.stop()
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
})

async function connections(): Promise<number> {
  return (await redis.command('CLIENT', 'LIST')).split('name=holdfast ').length - 1
}

describe('openStore', () => {
  it.each(['ioredis', 'redis'])('opens Redis with %s, and closes its connections', async (name) => {
    const url = `redis://:sesame@127.0.0.1:${redis.port}/0`
    const store = await openStore(url, { librariesOf: join(folder, name) })
    const locks = createLocks(store)
    await locks.mutex('a').run(async (lease) => expect(lease.token).toBeGreaterThan(0n))
    expect(await connections()).toBeGreaterThan(0)
    await locks.close()
    await eventually('no connection is left', async () => (await connections()) === 0)
  })

  it.each(['ioredis', 'redis'])('opens Redis through a Unix socket with %s', async (name) => {
    const url = `redis+unix://:sesame@${socket}?db=2&prefix=${name}`
    const options = { librariesOf: join(folder, name) }
    const locks = createLocks(await openStore(url, options))
    // The other form, with the password as an option.
    const others = createLocks(
      await openStore(`unix://${socket}?db=2&prefix=${name}&password=sesame`, options),
    )
    const lease = await locks.mutex('a').acquire()
    expect(await others.mutex('a').tryAcquire()).toBeUndefined()
    // A waiter has a connection for messages, which must use the socket too.
    const next = others.mutex('a').acquire({ waitMs: 5000 })
    await eventually('the waiter is in the queue', async () => {
      const { waiters } = await locks.mutex('a').inspect()
      return waiters.length === 1
    })
    const clients = await redis.command('CLIENT', 'LIST')
    expect(clients).toMatch(/name=holdfast .* db=2 /)
    expect(clients).not.toMatch(/addr=127.*name=holdfast /)
    await lease.release()
    await (await next).release()
    await locks.close()
    await others.close()
    await eventually('no connection is left', async () => (await connections()) === 0)
  })

  it.each(['ioredis', 'redis'])(
    'leaves no connection of %s when the prefix is bad',
    async (name) => {
      const script = `
      import { openStore } from 'holdfast/url'
      const options = { librariesOf: ${JSON.stringify(join(folder, name))} }
      await openStore(process.argv[1], options).catch((error) => console.log(error.code))
    `
      const url = `redis://:sesame@127.0.0.1:${redis.port}/0?prefix=bad!`
      const args = ['--input-type=module', '-e', script, url]
      const child = { cwd: import.meta.dirname, timeout: 20_000 }
      const { stdout } = await promisify(execFile)(process.execPath, args, child)
      expect(stdout).toBe('LOCK_USAGE\n')
    },
  )

  it('lets the store see that the server refuses the password', async () => {
    const url = `redis://:wrong@127.0.0.1:${redis.port}/0`
    const store = await openStore(url, { librariesOf: join(folder, 'ioredis') })
    const locks = createLocks(store)
    await expect(locks.mutex('a').acquire({ waitMs: 0 })).rejects.toMatchObject({
      code: 'STORE_AUTH',
    })
    await locks.close()
  })

  it('opens PostgreSQL, and disposing of the store ends its pool', async () => {
    const { pool } = await openPostgresPool(postgres.url)
    await migratePostgres(pool)
    await pool.end()
    const store = await openStore(postgres.url)
    const locks = createLocks(store)
    const lease = await locks.mutex('a').acquire()
    expect(await lease.release()).toBe('released')
    await store[Symbol.asyncDispose]()
    await expect(locks.mutex('a').acquire({ waitMs: 0 })).rejects.toMatchObject({
      code: 'LOCKS_CLOSED',
    })
  })

  it('opens PostgreSQL through a socket, by a URL with a user and without a host', async () => {
    const { username, port, pathname } = new URL(postgres.url)
    const sockets = (await postgres.ask('show unix_socket_directories')).trim()
    const url = `postgres://${username}@${pathname}?host=${sockets}&port=${port}`
    const { pool } = await openPostgresPool(url)
    const { rows } = await pool.query('select inet_server_addr() as address')
    await pool.end()
    expect(rows).toEqual([{ address: null }])
    await expect(openPostgresPool(`${url}&sslrootcert=${folder}/none`)).rejects.toMatchObject({
      code: 'STORE_CONFIG',
    })
  })

  it('opens a folder of this machine, and may be closed twice', async () => {
    const store = await openStore(`embedded:${join(folder, 'locks')}`)
    expect(store.name).toBe('embedded')
    await store.close()
    await store.close()
  })

  it('loads the code of no store before a URL names it', () => {
    const program =
      "require('holdfast/url');console.log(JSON.stringify(Object.keys(require.cache)))"
    const args = ['--input-type=commonjs', '--eval', program]
    const options = { cwd: import.meta.dirname, encoding: 'utf8' } as const
    const loaded = JSON.parse(execFileSync(process.execPath, args, options)) as string[]
    expect(loaded.length).toBeGreaterThan(10)
    expect(loaded.filter((file) => /stores.\w+.(?:index|store)\.js$/.test(file))).toEqual([])
  })

  it('names the package that is missing, and how to install it', async () => {
    await expect(loadClient('mysql', ['no-such-mysql/promise'], folder)).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message:
        'mysql: URLs need the package "no-such-mysql", which is not installed. Run: npm install no-such-mysql',
    })
  })

  it.each([undefined, null, 1, {}, new URL('redis://h')])('refuses %s', async (url) => {
    await expect(openStore(url as string)).rejects.toBeInstanceOf(LockUsageError)
  })

  it.each(['memory:', 'gopher://h', 'no url', 'redis://a,b', 'etcd://', 'zk:'])(
    'refuses %s',
    async (url) => {
      await expect(openStore(url)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    },
  )

  it.each([
    'redis://app:hunter2@',
    'redis://app:x?hunter2@h',
    'postgres://app:hunter2@/db',
    'mysql://app:hunter2@h/db?schema=s',
    'etcd://app:x?hunter2@h',
    'zk://app:x/hunter2@h',
    'gopher://app:hunter2@h',
    '//app:hunter2@h',
  ])('shows nothing of the password when it refuses %s', async (url) => {
    const error = (await openStore(url).catch((thrown: unknown) => thrown)) as Error
    expect(error).toBeInstanceOf(LockUsageError)
    expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain('hunter2')
  })
})
