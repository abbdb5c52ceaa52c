/**
 * `holdfast lab`: runs the package `@holdfast/lab` where it is installed, and says how to get it
 * where it is not.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { printHelp } from '../args/help.js'
import { STORE_OPTIONS } from '../args/common.js'
import { LAB_ABOUT, LAB_OPTIONS } from '../args/lab-options.js'
import { ConfigError, UsageError } from '../cli-error.js'
import { readHostSettings } from '../stores/host-settings.js'
import { findPackage } from '../stores/libraries.js'
import type { Command } from './command.js'

const PACKAGE = '@holdfast/lab'
const INSTALL = `npm install --save-dev ${PACKAGE}`

export const command: Command = {
  help: {
    usage: 'holdfast lab [TOPIC] [options]',
    about: `${LAB_ABOUT}

The lab is a package of its own. Where it is not installed:

  ${INSTALL}`,
    options: { ...LAB_OPTIONS, modules: STORE_OPTIONS.modules },
  },

  async main(argv, takeSignal) {
    const { rest, modules } = withoutModules(argv)
    const file = findPackage(PACKAGE, modules)
    if (file !== undefined) {
      const lab = (await import(pathToFileURL(file).href)) as { readonly command: Command }
      return lab.command.main(rest, takeSignal)
    }
    if (argv.includes('--help') || argv.includes('-h')) return printHelp(this.help)
    throw new ConfigError(
      `The lab is a package of its own, which is not installed. Run: ${INSTALL}`,
    )
  },
}

/** Takes `--modules` out of the arguments, since the lab itself has no such option. */
function withoutModules(argv: readonly string[]): {
  readonly rest: readonly string[]
  readonly modules: string | undefined
} {
  const at = argv.findIndex((arg) => arg === '--modules' || arg.startsWith('--modules='))
  const arg = argv[at]
  const inherited = process.env['HOLDFAST_MODULES']
  if (arg === undefined) return { rest: argv, modules: folderFrom(inherited) }
  const isSplit = arg === '--modules'
  const value = isSplit ? argv[at + 1] : arg.slice('--modules='.length)
  if (value === undefined || value === '') throw new UsageError('Write: --modules PATH')
  return { rest: argv.toSpliced(at, isSplit ? 2 : 1), modules: folderFrom(value) }
}

/** The settings of the machine count where neither the option nor the variable names a folder. */
function folderFrom(path: string | undefined): string | undefined {
  return path === undefined || path === ''
    ? readHostSettings(process.env, false)?.modules
    : resolve(path)
}
