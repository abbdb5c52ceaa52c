/** The servers that the samples name, on free ports of this machine. */
import { startEtcd } from '@holdfast/servers/etcd'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { startRedis } from '@holdfast/servers/redis'
import { startZooKeeper } from '@holdfast/servers/zookeeper'

interface Started {
  /** Where each `host:port` of the samples leads; a name without a host stands for all hosts. */
  readonly ports?: Readonly<Record<string, number>>
  readonly env?: Readonly<Record<string, string>>
  stop(): Promise<void>
}

const START = {
  async redis(): Promise<Started> {
    const server = await startRedis()
    return { ports: { '6379': server.port }, stop: () => server.stop() }
  },

  async redlock(): Promise<Started> {
    const servers = await Promise.all([startRedis(), startRedis(), startRedis()])
    const names = [
      ['6379', 'redis-a:6379'],
      ['6380', 'redis-b:6379'],
      ['6381', 'redis-c:6379'],
    ]
    const ports = servers.flatMap(({ port }, at) => (names[at] ?? []).map((name) => [name, port]))
    const stop = async (): Promise<void> => {
      await Promise.all(servers.map((server) => server.stop()))
    }
    return { ports: Object.fromEntries(ports) as Record<string, number>, stop }
  },

  async postgres(): Promise<Started> {
    const server = await startPostgres()
    server.psql(STOCK)
    return { env: { DATABASE_URL: server.url }, stop: () => server.remove() }
  },

  async mysql(): Promise<Started> {
    const server = await startMysql()
    return { env: { DATABASE_URL: server.url }, stop: () => server.remove() }
  },

  async etcd(): Promise<Started> {
    const cluster = await startEtcd()
    const port = Number(new URL(cluster.endpoints[0] ?? '').port)
    return { ports: { '2379': port }, stop: () => cluster.stop() }
  },

  async zookeeper(): Promise<Started> {
    const ensemble = await startZooKeeper()
    return { ports: { '2181': ensemble.ports[0] ?? 0 }, stop: () => ensemble.stop() }
  },
}

/** The table that the samples about databases use. */
const STOCK = `
  create table stock (id int primary key, amount int not null, version int not null default 1);
  insert into stock values (9, 100), (10, 100);
`

export type ServerName = keyof typeof START

export class Servers {
  readonly #started: ReadonlyMap<ServerName, Started>

  private constructor(started: ReadonlyMap<ServerName, Started>) {
    this.#started = started
  }

  static async start(names: ReadonlySet<ServerName>): Promise<Servers> {
    const starting = [...names].map(async (name) => [name, await START[name]()] as const)
    return new Servers(new Map(await Promise.all(starting)))
  }

  /** Returns the environment in which a program finds these servers. */
  envFor(names: readonly ServerName[]): Record<string, string> {
    const started = names.flatMap((name) => this.#started.get(name) ?? [])
    const ports = Object.assign({}, ...started.map((server) => server.ports)) as object
    return Object.assign(
      { PORTS: JSON.stringify(ports) },
      ...started.map((server) => server.env),
    ) as Record<string, string>
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#started.values()].map((server) => server.stop()))
  }
}
