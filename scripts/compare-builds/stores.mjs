/**
 * Opens stores for `compare-builds.mjs`. Each build has a server or a database of its own, since
 * the two may keep their locks in other forms.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** By name: starts what a store needs. `open` makes the store of one of the builds. */
export const STORES = {
  memory: () => ({
    open: async (load) => (await load('stores/memory/index.js')).memoryStore(),
    stop: () => undefined,
  }),

  embedded() {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-builds-'))
    return {
      async open(load, index) {
        const { embeddedStore } = await load('stores/embedded/index.js')
        return embeddedStore({ directory: join(folder, String(index)) })
      },
      stop: () => rmSync(folder, { recursive: true, force: true }),
    }
  },

  async redis() {
    const { startRedis } = await import('@holdfast/servers/redis')
    const { Redis } = await import('ioredis6')
    const servers = [await startRedis(), await startRedis()]
    return {
      async open(load, index) {
        const { redisStore } = await load('stores/redis/index.js')
        return redisStore({ client: new Redis(servers[index].port) })
      },
      stop: () => stopAll(servers),
    }
  },

  async redlock() {
    const { startRedis } = await import('@holdfast/servers/redis')
    const { Redis } = await import('ioredis6')
    const servers = []
    for (let node = 0; node < 6; node += 1) servers.push(await startRedis())
    return {
      async open(load, index) {
        const { redlockStore } = await load('stores/redlock/index.js')
        const own = servers.slice(3 * index, 3 * index + 3)
        return redlockStore({ clients: own.map(({ port }) => new Redis(port)) })
      },
      stop: () => stopAll(servers),
    }
  },

  async postgres() {
    const { startPostgres } = await import('@holdfast/servers/postgres')
    const { Pool } = (await import('pg')).default
    const server = await startPostgres()
    return {
      async open(load, index) {
        server.psql(`create database build${index}`)
        const { postgresStore } = await load('stores/postgres/index.js')
        const url = new URL(server.url)
        url.pathname = `build${index}`
        const pool = new Pool({ connectionString: url.href, max: 4 })
        pool.on('error', () => undefined)
        return postgresStore({ pool, autoMigrate: true })
      },
      stop: () => server.remove(),
    }
  },

  async mysql() {
    const { startMysql } = await import('@holdfast/servers/mysql')
    const { createPool } = await import('mysql2/promise')
    const server = await startMysql()
    return {
      async open(load, index) {
        server.sql(`create database build${index}`)
        const { mysqlStore } = await load('stores/mysql/index.js')
        const url = new URL(server.url)
        url.pathname = `build${index}`
        const pool = createPool({ uri: url.href, connectionLimit: 4 })
        return mysqlStore({ pool, autoMigrate: true })
      },
      stop: () => server.remove(),
    }
  },
}

async function stopAll(servers) {
  for (const server of servers) await server.stop()
}
