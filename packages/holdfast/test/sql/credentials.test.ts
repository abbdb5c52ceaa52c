/** Wrong credentials and certificates: an error at once at first, an outage after a success. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { createLocks, type Locks } from 'holdfast'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { openStore } from 'holdfast/url'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { makeFolder, removeFolder } from '@holdfast/servers/folders'
import { startMysql } from '@holdfast/servers/mysql'
import { GUARDED, startPostgres } from '@holdfast/servers/postgres'
import { after } from '../../../../test/support/after.js'

const [server, mysql] = await Promise.all([startPostgres(), startMysql()])
server.psql(`create user ${GUARDED} password 'first'; ${postgresSchema()}`)
server.psql(`grant usage on schema holdfast to ${GUARDED}`)
server.psql(`grant all on all tables in schema holdfast to ${GUARDED}`)
mysql.sql(mysqlSchema())
mysql.sql("create user app@'%' identified by 'first'; grant all privileges on app.* to app@'%'")
afterAll(() => Promise.all([server.remove(), mysql.remove()]))

function locksOf(store: Store): Locks {
  const locks = createLocks(store)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

async function refusedAtOnce(store: Store): Promise<void> {
  const startMs = performance.now()
  const refused = locksOf(store).mutex('refused').acquire({ waitMs: 20_000 })
  await expect(refused).rejects.toMatchObject({ code: 'STORE_AUTH' })
  expect(performance.now() - startMs).toBeLessThan(10_000)
}

const guarded = (password: string): string =>
  `postgres://${GUARDED}${password}@127.0.0.1:${server.port}/postgres`
const app = (password: string): string => `mysql://app${password}@127.0.0.1:${mysql.port}/app`

test.each([guarded(''), guarded(':wrong'), app(''), app(':wrong')])(
  'a user without the right password: STORE_AUTH at once (case %#)',
  async (url) => refusedAtOnce(await openStore(url)),
)

test('postgres.js without the right password: STORE_AUTH at once', async () => {
  const sql = postgres(guarded(':wrong'), { fetch_types: false })
  after(() => sql.end({ timeout: 1 }))
  await refusedAtOnce(postgresStore({ pool: sql }))
})

test.each(['pg', 'mysql2'])('%s: a password that changes is an outage', async (library) => {
  let password = 'first'
  const ends: (() => Promise<unknown>)[] = []
  const change = (to: string): Promise<string> =>
    library === 'pg'
      ? server.ask(`alter user ${GUARDED} password '${to}'`)
      : mysql.ask(`alter user app@'%' identified by '${to}'`)
  const open = (): Store => {
    if (library === 'pg') {
      const pool = new Pool({
        host: '127.0.0.1',
        port: server.port,
        user: GUARDED,
        database: 'postgres',
        password: () => password,
      })
      pool.on('error', () => undefined)
      ends.push(() => pool.end())
      return postgresStore({ pool })
    }
    const pool = createPool({ uri: app(''), password })
    ends.push(() => pool.end())
    // The library reads the password of its settings for each connection.
    const { connectionConfig } = pool.pool.config as unknown as { connectionConfig: object }
    Object.defineProperty(connectionConfig, 'password', {
      get: () => password,
      enumerable: true,
    })
    return mysqlStore({ pool })
  }
  after(async () => {
    await Promise.all(ends.map((end) => end()))
    await change('first')
  })
  const locks = locksOf(open())
  await (await locks.mutex('before').acquire()).release()
  await change('second')
  if (library === 'pg')
    await server.ask(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()',
    )
  else
    for (const id of (
      await mysql.ask("select id from information_schema.processlist where user = 'app'")
    ).split('\n'))
      await mysql.ask(`kill ${id}`)
  await expect(locks.mutex('during').tryAcquire()).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
  const waiting = locks.mutex('during').acquire({ waitMs: 20_000 })
  password = 'second'
  expect((await waiting).held).toBe(true)
})

test('a certificate of an unknown authority: STORE_AUTH at once, with advice', async () => {
  const folder = makeFolder('certificate')
  after(() => removeFolder(folder))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-days', '2']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject],
    { stdio: 'pipe' },
  )
  // All that a server of PostgreSQL does before the handshake.
  const encrypted = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write('S', () => {
        const options = { isServer: true, key: readFileSync(key), cert: readFileSync(cert) }
        new TLSSocket(socket, options).on('error', () => undefined)
      })
    })
  })
  await new Promise<void>((resolve) => encrypted.listen(0, '127.0.0.1', resolve))
  after(() => new Promise((resolve) => void encrypted.close(resolve)))
  const { port } = encrypted.address() as AddressInfo
  const url = `postgres://me@127.0.0.1:${port}/db?sslmode=verify-full`
  const refused = locksOf(await openStore(url))
    .mutex('refused')
    .acquire({ waitMs: 20_000 })
  await expect(refused).rejects.toThrow(/self-signed certificate.*sslrootcert/)
})
