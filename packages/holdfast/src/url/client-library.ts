/** Loads the user's client library for a store, when its URL is used. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { settingsError } from './settings-error.js'

/**
 * Loads the first of these packages that is installed.
 * @param folder where to look first; then beside Holdfast
 * @throws StoreUnavailableError (`STORE_CONFIG`) when none is installed.
 */
export async function loadFirst(
  scheme: string,
  packages: readonly string[],
  folder: string | undefined,
): Promise<{ readonly name: string; readonly library: unknown }> {
  const places = folder === undefined ? [] : [pathToFileURL(join(folder, 'holdfast')).href]
  for (const name of packages) {
    for (const from of [...places, import.meta.url]) {
      const path = resolved(name, from)
      if (path === undefined) continue
      // An import would first search all files of the library for the names that they export.
      const found = createRequire(from)(path) as { readonly default?: unknown }
      return { name, library: found.default ?? found }
    }
  }
  const names = packages.map((name) => JSON.stringify(packageOf(name))).join(' or ')
  throw settingsError(
    `${scheme}: URLs need the package ${names}, which is not installed. Run: npm install ${packageOf(packages[0] ?? '')}`,
  )
}

function resolved(name: string, from: string): string | undefined {
  try {
    return createRequire(from).resolve(name)
  } catch {
    return undefined
  }
}

/** Returns the package of a module such as `mysql2/promise`. */
function packageOf(name: string): string {
  return name.split('/')[0] ?? name
}
