/**
 * Finds the folder from which a command loads the client library of its store, or the lab. A folder
 * that `--modules` names comes first, then the place of the command itself. The working folder
 * comes last: a job of root may run in a folder where another user can put code.
 */
import { realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clientModules, schemeOf } from 'holdfast/url'
import { ConfigError } from '../cli-error.js'
import { openToOthers } from './open-to-others.js'
import { workingFolder } from './working-folder.js'

/** Returns the folder for the client library of a URL; undefined for the place of the command. */
export function libraryFolder(url: string, modules: string | undefined): string | undefined {
  const names = clientModules(schemeOf(url))
  return names.length === 0 ? undefined : folderOf(names, modules)
}

/** Returns the file of a package; undefined when it is not installed. */
export function findPackage(name: string, modules: string | undefined): string | undefined {
  const folder = folderOf([name], modules)
  return folder === undefined ? besideCommand([name]) : fromFolder(folder, [name])
}

/**
 * Returns the folder that has one of the packages; undefined for the place of the command, or when
 * none has one.
 * @throws ConfigError when it is only where another user could have put it
 */
function folderOf(names: readonly string[], modules: string | undefined): string | undefined {
  const packages = names.map((name) => JSON.stringify(packageOf(name))).join(' or ')
  if (modules !== undefined) {
    if (fromFolder(modules, names) !== undefined) return modules
    throw new ConfigError(`The folder ${modules} of --modules has no package ${packages}.`)
  }
  const beside = besideCommand(names)
  if (beside !== undefined && isAsTrusted(beside)) return undefined
  const folder = workingFolder()
  const found = folder === undefined ? undefined : fromFolder(folder, names)
  if (folder === undefined || found === undefined) {
    if (beside === undefined) return undefined
    throw new ConfigError(
      `The package ${packages} is not loaded, because another user may write to ${beside}. ` +
        'Install it beside the command, or name a folder that has it: --modules PATH',
    )
  }
  const open = openToOthers(folder) ?? openToOthers(found)
  if (open === undefined) return folder
  throw new ConfigError(
    `The package ${packages} of the working folder is not loaded, because another user may write to ${open}. ` +
      `Install it beside the command, or name its folder: --modules ${folder}`,
  )
}

function besideCommand(names: readonly string[]): string | undefined {
  return resolved(fileURLToPath(import.meta.url), names)
}

function fromFolder(folder: string, names: readonly string[]): string | undefined {
  return resolved(join(folder, 'holdfast'), names)
}

function resolved(from: string, names: readonly string[]): string | undefined {
  const { resolve } = createRequire(from)
  for (const name of names) {
    try {
      return resolve(name)
    } catch {
      // The next one may be there.
    }
  }
  return undefined
}

/**
 * Node also searches the folders above the command, of which one may be open to all users. The
 * owner of the command can run code as the caller anyway.
 */
function isAsTrusted(file: string): boolean {
  const command = realpathSync(fileURLToPath(import.meta.url))
  const owners = new Set([0, process.geteuid?.(), statSync(command).uid])
  return owners.has(statSync(file).uid)
}

function packageOf(name: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name
}
