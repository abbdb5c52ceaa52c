/** Loads the user's client library for a store, when its URL is used. */
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { settingsError } from './settings-error.js'

interface Loaded {
  readonly name: string
  readonly library: unknown
}

/**
 * Loads the client library of a kind of store.
 * @param names the modules that can serve its URLs: the first that is found is used
 * @param folder where to look first; then beside Holdfast
 * @throws StoreUnavailableError (`STORE_CONFIG`) when none is installed.
 */
export async function loadClient(
  kind: string,
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
    `${kind}: URLs need the package ${packages}, which is not installed. Run: npm install ${packageOf(names[0] ?? '')}`,
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
