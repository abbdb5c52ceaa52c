/** Loads the user's client library for a store, when its URL is used. */
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { settingsError } from './settings-error.js'

/** The modules that can serve the URLs of a kind of store. The first that is found is used. */
const MODULES = {
  redis: ['ioredis', 'redis'],
  postgres: ['pg'],
  mysql: ['mysql2/promise'],
} as const

export type ClientKind = keyof typeof MODULES

/** Returns the modules that can serve the URLs of a scheme; none for a store that needs none. */
export function clientModules(scheme: string): readonly string[] {
  if (/^(?:rediss?(?:[+].*)?|redlocks?)$/.test(scheme)) return MODULES.redis
  if (/^postgres(?:ql)?$/.test(scheme)) return MODULES.postgres
  return /^(?:mysql|mariadb)$/.test(scheme) ? MODULES.mysql : []
}

/**
 * Loads the client library of a kind of store.
 * @param folder where to look first; then beside Holdfast
 * @throws StoreUnavailableError (`STORE_CONFIG`) when none is installed.
 */
export function loadClient(kind: ClientKind, folder: string | undefined): Promise<Loaded> {
  return loadFirst(kind, MODULES[kind], folder)
}

interface Loaded {
  readonly name: string
  readonly library: unknown
}

/** Loads the first of these modules that the folder has, or else the place of Holdfast. */
export async function loadFirst(
  scheme: string,
  names: readonly string[],
  folder: string | undefined,
): Promise<Loaded> {
  const there = folder === undefined ? [] : [createRequire(resolve(folder, 'holdfast'))]
  for (const from of [...there, require]) {
    for (const name of names) {
      const path = resolved(name, from)
      if (path === undefined) continue
      // An import would first search all files of the library for the names that they export.
      const found = from(path) as { readonly default?: unknown }
      return { name, library: found.default ?? found }
    }
  }
  const packages = names.map((name) => JSON.stringify(packageOf(name))).join(' or ')
  throw settingsError(
    `${scheme}: URLs need the package ${packages}, which is not installed. Run: npm install ${packageOf(names[0] ?? '')}`,
  )
}

function resolved(name: string, from: NodeJS.Require): string | undefined {
  try {
    return from.resolve(name)
  } catch {
    return undefined
  }
}

/** Returns the package of a module such as `mysql2/promise`. */
function packageOf(name: string): string {
  return name.split('/')[0] ?? name
}
