/**
 * Finds the folder from which a command loads the client library of its store, or the lab. A folder
 * that `--modules` names comes first, then the place of the command itself. The working folder
 * comes last: a job of root may run in a folder where another user can put code.
 */
import { existsSync, realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, sep } from 'node:path'
import { kindOf } from '../../url/store-kinds.js'
import { schemeOf } from '../../url/scheme.js'
import { ConfigError } from '../cli-error.js'
import { openToOthers, stepsTo } from './open-to-others.js'
import { workingFolder } from './working-folder.js'

/** Returns the folder for the client library of a URL; undefined for the place of the command. */
export function libraryFolder(url: string, modules: string | undefined): string | undefined {
  const names = kindOf(schemeOf(url))?.clients ?? []
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
  const open = beside === undefined ? undefined : openBeside(beside, names)
  if (beside !== undefined && open === undefined) return undefined
  const folder = workingFolder()
  const found = folder === undefined ? undefined : fromFolder(folder, names)
  if (folder === undefined || found === undefined) {
    if (beside === undefined) return undefined
    throw new ConfigError(
      `The package ${packages} is not loaded, because another user may write to ${open}. ` +
        'Install it beside the command, or name a folder that has it: --modules PATH',
    )
  }
  const openThere = openToOthers(folder) ?? openOnTheWay(folder, found, names)
  if (openThere === undefined) return folder
  throw new ConfigError(
    `The package ${packages} of the working folder is not loaded, because another user may write to ${openThere}. ` +
      `Install it beside the command, or name its folder: --modules ${folder}`,
  )
}

function besideCommand(names: readonly string[]): string | undefined {
  return resolved(__filename, names)
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

/** Returns the places from which Node may take one of the packages, up to the one that has it. */
function placesOf(from: string, found: string, names: readonly string[]): string[] {
  const places = names.flatMap((name) =>
    (createRequire(from).resolve.paths(name) ?? []).map((at) => join(at, packageOf(name))),
  )
  const present = places.filter((place) => existsSync(place))
  const last = present.findIndex((place) => found.startsWith(realpathSync(place) + sep))
  return last === -1 ? present : present.slice(0, last + 1)
}

/** Returns the first folder on the way to a package, links included, that is open to others. */
function openOnTheWay(folder: string, found: string, names: readonly string[]): string | undefined {
  const open = openToOthers(found)
  if (open !== undefined) return open
  for (const place of placesOf(join(folder, 'holdfast'), found, names)) {
    for (const step of stepsTo(place)) {
      const its = openToOthers(step.folder)
      if (its !== undefined) return its
    }
  }
  return undefined
}

/**
 * Returns what on the way to a package another user can replace. Node also searches the folders
 * above the command, of which one may be open to all users. The owner of the command can run code
 * as the caller anyway, and so can a user who may replace the command.
 */
function openBeside(found: string, names: readonly string[]): string | undefined {
  const command = realpathSync(__filename)
  const owners = new Set([0, process.geteuid?.(), statSync(command).uid])
  if (!owners.has(statSync(found).uid)) return found
  for (const place of placesOf(__filename, found, names)) {
    for (const { folder, entry, stat } of stepsTo(place)) {
      if (command.startsWith(entry + sep)) continue
      if (!owners.has(stat.uid)) return entry
      if (isReplaceable(folder) && !command.startsWith(folder + sep)) return folder
    }
  }
  return undefined
}

/** Whether all users may remove entries of others from a folder. */
function isReplaceable(folder: string): boolean {
  const { mode } = statSync(folder)
  return (mode & 0o002) !== 0 && (mode & 0o1000) === 0
}

function packageOf(name: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name
}
