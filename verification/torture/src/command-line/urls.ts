/** The URLs by which the command line reaches each store. */
import { TICK_MS } from '@holdfast/servers/zookeeper'
import type { Connection } from '../protocol.js'
import type { StoreName } from '../stores.js'

type UrlOf = (connection: Connection) => string

const hosts = ({ ports }: Connection): string => ports.map((port) => `127.0.0.1:${port}`).join()

const URLS: Partial<Record<StoreName, UrlOf>> = {
  embedded: ({ directory = '' }) => `embedded:${directory}`,
  redis: (connection) => `redis://${hosts(connection)}/0`,
  redlock: (connection) => `redlock://${hosts(connection)}`,
  postgres: (connection) => `postgres://postgres@${hosts(connection)}/postgres`,
  mysql: (connection) => `mysql://root@${hosts(connection)}/app`,
  etcd: (connection) => `etcd://${hosts(connection)}`,
  zookeeper: (connection) => `zk://${hosts(connection)}?tickMs=${TICK_MS}`,
}

/** The others have no URL, or one that cannot lead through a proxy for each client. */
export const COMMAND_LINE_STORES = Object.keys(URLS) as readonly StoreName[]

export function urlOf(store: StoreName, connection: Connection): string {
  const url = URLS[store]
  if (!url) throw new Error(`The command line is not tried on ${store}.`)
  return url(connection)
}
