/** The stores of the command line. The code of a store on a server is loaded only for its URL. */
import type { Store } from 'holdfast/store'
import { UsageError } from '../cli-error.js'
import { nearest } from '../args/suggest.js'
import * as embedded from './embedded.js'
import { REDIS_SCHEMES } from './redis-url.js'
import { schemeOf } from './scheme.js'

export type OpenStore = (url: string) => Store | Promise<Store>

/** The migration of a store in a database. */
export interface Migration {
  readonly script: (url: string) => string
  readonly migrate: (url: string) => Promise<void>
}

interface StoreModule extends Partial<Migration> {
  readonly open: OpenStore
}

const STORES = new Map<string, () => Promise<StoreModule>>([
  ['embedded', async () => embedded],
  ...REDIS_SCHEMES.map((scheme) => [scheme, onServer('redis')] as const),
  ['postgres', onServer('postgres')],
  ['postgresql', onServer('postgres')],
  ['mysql', onServer('mysql')],
  ['mariadb', onServer('mysql')],
  ['etcd', onServer('etcd')],
  ['etcds', onServer('etcd')],
  ['zk', onServer('zookeeper')],
])

function onServer(
  name: 'redis' | 'postgres' | 'mysql' | 'etcd' | 'zookeeper',
): () => Promise<StoreModule> {
  return async () => (await import('../servers.js'))[name]
}

/** Stores of the library that work only inside one process. */
const REFUSED = new Map([
  ['memory', 'Its locks exist inside one process, so no other process can wait for them.'],
])

export async function openStore(url: string): Promise<Store> {
  const { open } = await moduleOf(url)
  return open(url)
}

/** @throws UsageError for a store that needs no migration. */
export async function migrationOf(url: string): Promise<Migration> {
  const { script, migrate } = await moduleOf(url)
  if (script && migrate) return { script, migrate }
  throw new UsageError(
    `The ${schemeOf(url)} store needs no migration. Give --store the postgres: or mysql: URL of a database.`,
  )
}

async function moduleOf(url: string): Promise<StoreModule> {
  const scheme = schemeOf(url)
  const refusal = REFUSED.get(scheme)
  if (refusal !== undefined)
    throw new UsageError(`The ${scheme} store cannot be used from the command line. ${refusal}`)
  const load = STORES.get(scheme)
  if (load === undefined) throw unknownScheme(scheme)
  return load()
}

function unknownScheme(scheme: string): UsageError {
  const known = [...STORES.keys()]
  const near = nearest(scheme, known)
  const hint = near === undefined ? '' : ` Did you mean ${near}:?`
  return new UsageError(
    `There is no store for ${scheme}: URLs.${hint} Known: ${known.map((name) => `${name}:`).join(', ')}.`,
  )
}
