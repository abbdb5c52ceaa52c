/**
 * What Holdfast reads of client libraries beyond their documentation. An update that takes a field
 * away fails here, and not as a lock in the wrong database.
 */
import { once } from 'node:events'
import {
  drizzleTransactions,
  knexTransactions,
  kyselyTransactions,
  prismaTransactions,
  typeormTransactions,
} from 'holdfast/transaction'
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import * as ioredis5 from 'ioredis5'
import * as ioredis6 from 'ioredis6'
import knex from 'knex'
import { Kysely, MysqlDialect, PostgresDialect } from 'kysely'
import { createPool as createCallbackPool } from 'mysql2'
import { createPool } from 'mysql2/promise'
import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { createClient, createCluster, createSentinel } from 'redis6'
import { DataSource } from 'typeorm'
import { describe, expect, test } from 'vitest'
import { startRedis } from '@holdfast/servers/redis'
import { freePorts } from '@holdfast/servers/ports'
import { poolOf } from '../../dist/stores/mysql/connection/clients.js'
import { limitOf } from '../../dist/stores/mysql/connection/outside-transaction.js'
import { clusterTransportOf, transportOf } from '../../dist/stores/redis/connection/open.js'
import { databaseOf } from '../../dist/stores/redis/connection/transports/ioredis/ioredis-database.js'
import { isTypeorm } from '../../dist/transaction/libraries/typeorm.js'
import { prismaFor } from '../../../../test/transaction/prisma.js'
import { after } from '../../../../test/support/after.js'

describe.each([
  { name: 'ioredis 5', library: ioredis5 },
  // The used part is the same, except for its types.
  { name: 'ioredis 6', library: ioredis6 as unknown as typeof ioredis5 },
])('$name', ({ library }) => {
  test('shows the database that SELECT moved a client to, also after a break', async () => {
    const server = await startRedis()
    after(() => server.stop())
    const client = new library.Redis(server.url, { retryStrategy: () => 10 })
    after(() => client.disconnect())
    client.on('error', () => undefined)
    await client.select(3)
    expect(databaseOf(client)).toBe(3)
    // Connected again, and not in that database yet.
    const again = new Promise((resolve) =>
      client.once('connect', () => resolve(databaseOf(client))),
    )
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal')
    expect(await again).toBe(3)
  })

  test('says why no member of a Cluster could be asked', async () => {
    const [port = 0] = await freePorts(1)
    const client = new library.Cluster([{ host: '127.0.0.1', port }], {
      clusterRetryStrategy: () => null,
    })
    after(() => client.disconnect())
    const [error] = (await once(client, 'error')) as [{ lastNodeError?: unknown }]
    expect(error.lastNodeError).toBeInstanceOf(Error)
  })
})

describe('node-redis 6', () => {
  const node = { host: '127.0.0.1', port: 6379 }

  test('shows the key prefix of a client, a Cluster and a client of Sentinels', () => {
    const prefix = { keyPrefix: 'mine:' }
    const sentinel = createSentinel({ name: 'primary', sentinelRootNodes: [node], ...prefix })
    expect(transportOf(createClient(prefix)).keyPrefix).toBe('mine:')
    expect(transportOf(sentinel).keyPrefix).toBe('mine:')
    expect(clusterTransportOf(createCluster({ rootNodes: [], ...prefix }))?.keyPrefix).toBe('mine:')
  })

  test('shows the address map of a Cluster', () => {
    const mapped = { host: 'outside', port: 1 }
    const cluster = createCluster({ rootNodes: [], nodeAddressMap: () => mapped })
    expect(clusterTransportOf(cluster)?.mapAddress(node)).toEqual(mapped)
  })

  test('shows the settings of the socket, which connections of our own have too', () => {
    expect(createClient({ socket: { ...node, connectTimeout: 123 } }).options).toMatchObject({
      socket: { connectTimeout: 123 },
    })
  })
})

describe('pg', () => {
  test('shows what a pool makes its connections with, the password among it', async () => {
    const pool = new Pool({ password: 'secret', max: 7 })
    after(() => pool.end())
    expect(pool).toMatchObject({ totalCount: 0, idleCount: 0 })
    const { Client: Made, options } = pool as unknown as { Client: unknown; options: object }
    expect(Made).toBeTypeOf('function')
    expect(Reflect.get(options, 'password')).toBe('secret')
    expect(Reflect.get(options, 'max')).toBe(7)
  })

  test('shows the socket of a client, and the state of its transaction', () => {
    const client = new Client() as unknown as {
      connection: { stream: object }
      getTransactionStatus: unknown
    }
    expect(client.connection.stream).toHaveProperty('destroy')
    expect(client.getTransactionStatus).toBeTypeOf('function')
  })
})

test('mysql2 shows the pool below one of promises, and its limit', async () => {
  const pool = createPool({ connectionLimit: 7 })
  const below = createCallbackPool({ connectionLimit: 5 })
  after(() => pool.end())
  after(() => below.promise().end())
  expect(poolOf(pool)).not.toBe(pool)
  expect(limitOf(poolOf(pool))).toBe(7)
  expect(limitOf(poolOf(below))).toBe(5)
})

describe('the database is known of', () => {
  test('Prisma', async () => {
    for (const [provider, dialect] of [
      ['postgresql', 'postgres'],
      ['mysql', 'mysql'],
    ] as const) {
      const prisma = prismaFor(provider, `${provider}://unknown@127.0.0.1:1/none`)
      after(() => prisma.$disconnect())
      expect(prismaTransactions(prisma).dialect).toBe(dialect)
    }
  })

  test('Knex', () => {
    for (const [client, dialect] of [
      ['pg', 'postgres'],
      ['mysql2', 'mysql'],
    ] as const) {
      const db = knex({ client })
      after(() => db.destroy())
      expect(knexTransactions(db).dialect).toBe(dialect)
    }
  })

  test('Kysely', () => {
    for (const [dialect, name] of [
      [new PostgresDialect({ pool: new Pool() }), 'postgres'],
      [new MysqlDialect({ pool: createCallbackPool({}) }), 'mysql'],
    ] as const) {
      expect(kyselyTransactions(new Kysely<object>({ dialect })).dialect).toBe(name)
    }
  })

  test('Drizzle, and its pool of pg', () => {
    const pool = new Pool()
    expect(drizzleTransactions(drizzlePg(pool)).dialect).toBe('postgres')
    expect(pool.listenerCount('acquire')).toBe(1)
    drizzleTransactions(drizzlePg(pool))
    expect(pool.listenerCount('acquire')).toBe(1)
    expect(drizzleTransactions(drizzlePostgresJs(postgres())).dialect).toBe('postgres')
    expect(drizzleTransactions(drizzleMysql(createPool({}))).dialect).toBe('mysql')
  })

  test('TypeORM, whose data source and query runner are no client of pg', () => {
    for (const [type, dialect] of [
      ['postgres', 'postgres'],
      ['mariadb', 'mysql'],
    ] as const) {
      const source = new DataSource({ type })
      expect(typeormTransactions(source).dialect).toBe(dialect)
      expect(isTypeorm(source)).toBe(true)
      expect(isTypeorm(source.manager)).toBe(true)
      expect(isTypeorm(source.createQueryRunner())).toBe(true)
    }
  })
})
