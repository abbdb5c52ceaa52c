/**
 * A server that `HOLDFAST_NEWEST` names runs in the version that was fetched, not in the system's.
 */
import { startEtcd } from '@holdfast/servers/etcd'
import { startMysql } from '@holdfast/servers/mysql'
import { newestVersion, usesNewest, type NewestServer } from '@holdfast/servers/newest'
import { startPostgres } from '@holdfast/servers/postgres'
import { startRedis } from '@holdfast/servers/redis'
import { ask, startZooKeeper } from '@holdfast/servers/zookeeper'
import { expect, test } from 'vitest'

/** Asks a server of its own. */
const VERSIONS: Record<NewestServer, () => Promise<string>> = {
  async etcd() {
    const cluster = await startEtcd()
    const ask = async (): Promise<string> =>
      (await fetch(`${cluster.endpoints[0] ?? ''}/version`)).text()
    return askAndEnd(ask, () => cluster.stop())
  },
  redis: redisInfo,
  valkey: redisInfo,
  async postgres() {
    const server = await startPostgres()
    return askAndEnd(
      () => server.psql('show server_version'),
      () => server.remove(),
    )
  },
  mysql: mysqlVersion,
  mariadb: mysqlVersion,
  async zookeeper() {
    const ensemble = await startZooKeeper()
    return askAndEnd(
      () => ask(ensemble.ports[0] ?? 0, 'srvr'),
      () => ensemble.stop(),
    )
  },
}

async function redisInfo(): Promise<string> {
  const server = await startRedis()
  return askAndEnd(
    () => server.command('INFO', 'server'),
    () => server.stop(),
  )
}

async function mysqlVersion(): Promise<string> {
  const server = await startMysql()
  return askAndEnd(
    () => server.sql('select version()'),
    () => server.remove(),
  )
}

async function askAndEnd(
  question: () => string | Promise<string>,
  end: () => Promise<void>,
): Promise<string> {
  try {
    return await question()
  } finally {
    await end()
  }
}

for (const [name, version] of Object.entries(VERSIONS) as [NewestServer, () => Promise<string>][]) {
  test.skipIf(!usesNewest(name))(
    `the newest ${name} reports the version that was fetched`,
    async () => {
      // Debian puts an epoch before it, and its own revision after it.
      const fetched = /^(?:\d+:)?(\d+(?:\.\d+)+)/.exec(newestVersion(name))?.[1]
      console.log(`${name} ${fetched}`)
      expect(fetched).toBeDefined()
      expect(await version()).toContain(fetched)
    },
  )
}
