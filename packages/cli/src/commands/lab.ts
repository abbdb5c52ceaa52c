/**
 * `holdfast lab`: runs the package `@holdfast/lab` where it is installed, and says how to get it
 * where it is not.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { printHelp } from '../args/help.js'
import { OUTPUT_OPTIONS } from '../args/common.js'
import { ConfigError } from '../cli-error.js'
import type { Command } from './command.js'

const PACKAGE = '@holdfast/lab'
const INSTALL = `npm install --save-dev ${PACKAGE}`

export const command: Command = {
  help: {
    usage: 'holdfast lab [TOPIC] [options]',
    about: `Shows what goes wrong with locks, and what helps, on real servers that it starts and stops itself.

The lab is a package of its own, and it is not installed here. To install it:

  ${INSTALL}`,
    options: { help: OUTPUT_OPTIONS.help },
  },

  async main(argv, takeSignal) {
    const file = findLab()
    if (file !== undefined) {
      const lab = (await import(pathToFileURL(file).href)) as { readonly command: Command }
      return lab.command.main(argv, takeSignal)
    }
    if (argv.includes('--help') || argv.includes('-h')) return printHelp(this.help)
    throw new ConfigError(
      `The lab is a package of its own, which is not installed. Run: ${INSTALL}`,
    )
  },
}

/** The lab of the working folder, or else the one beside this command. */
function findLab(): string | undefined {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return createRequire(from).resolve(PACKAGE)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    }
  }
  return undefined
}
