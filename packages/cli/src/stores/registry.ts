/** The stores that the command line knows: one line each. A store's code is loaded only when a URL names it. */
import type { Store } from 'holdfast/store'
import { ConfigError, UsageError } from '../cli-error.js'
import { nearest } from '../args/suggest.js'

export type OpenStore = (url: string) => Store | Promise<Store>

const STORES = new Map<string, () => Promise<{ open: OpenStore }>>([
  ['embedded', () => import('./embedded.js')],
  ['etcd', () => import('./etcd.js')],
  ['etcds', () => import('./etcd.js')],
  ['zk', () => import('./zookeeper.js')],
])

/** Schemes that exist in the library and make no sense between processes. */
const REFUSED = new Map([
  ['memory', 'Its locks live in one process and end with it, so no other process could ever wait for them.'],
])

export function schemeOf(url: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]
  if (scheme !== undefined) return scheme.toLowerCase()
  throw new UsageError(
    `The store ${JSON.stringify(url)} is no URL. Write one such as embedded:/var/lib/locks.`,
  )
}

export async function openStore(url: string): Promise<Store> {
  const scheme = schemeOf(url)
  const refusal = REFUSED.get(scheme)
  if (refusal !== undefined)
    throw new UsageError(`The ${scheme} store cannot be used from the command line. ${refusal}`)
  const load = STORES.get(scheme)
  if (load === undefined) throw unknownScheme(scheme)
  const { open } = await load()
  return open(url)
}

function unknownScheme(scheme: string): ConfigError {
  const known = [...STORES.keys()]
  const near = nearest(scheme, known)
  const hint = near === undefined ? '' : ` Did you mean ${near}:?`
  return new ConfigError(
    `There is no store for ${scheme}: URLs.${hint} Known: ${known.map((name) => `${name}:`).join(', ')}.`,
  )
}
