/** `holdfast doctor`: checks the store and this machine. */
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { printHelp } from '../args/help.js'
import { noOperand } from '../args/name.js'
import { parseOptions, type OptionTable } from '../args/options.js'
import { UsageError } from '../cli-error.js'
import { ok, warning, type Finding } from '../doctor/check.js'
import type * as doctor from '../doctor/examine.js'
import { EXIT } from '../exit-codes.js'
import { libraryMessages } from '../output/library-messages.js'
import { printAnswer } from '../output/json.js'
import { paintFor, type Paint } from '../output/terminal.js'
import { printableLines } from '../output/text.js'
import { locateStore, type StoreLocation } from '../stores/locate.js'
import { readHostSettings } from '../stores/host-settings.js'
import { openStore } from '../stores/open-store.js'
import { kindOf } from '../../url/store-kinds.js'
import { schemeOf } from '../../url/scheme.js'
import type { Command } from './command.js'
import { stdout } from '../output/streams.js'

const OPTIONS = {
  'print-acl': {
    type: 'boolean',
    help: 'For Redis: only print the smallest ACL rule for a user of this server.',
  },
  ...STORE_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable

export const command: Command = {
  help: {
    usage: 'holdfast doctor [options]',
    about: `Checks the store (its answer, engine or members, rights, versions) and this machine (clock, shell).
Exits with 0 when nothing is wrong, otherwise with the code of \`run\`: 69, 77 or 78.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    if (parsed.values.help === true) return printHelp(this.help)
    noOperand('doctor', parsed)
    const location = locateStore(parsed.values)
    if (parsed.values['print-acl'] === true) return printAcl(location, parsed.values.json === true)
    const { examine } = loadDoctor()
    const findings = [
      ok('store', `${location.shown} (${location.source})`),
      ...hostFile(),
      ...(await examine(location, openStore)),
      ...libraryMessages().map((text) => warning('library', text)),
    ]
    if (parsed.values.json === true)
      printAnswer({ store: location.shown, source: location.source, checks: findings })
    else {
      const paint = paintFor(stdout())
      stdout().write(findings.map((finding) => line(finding, paint)).join(''))
    }
    return findings.find((finding) => finding.exitCode !== undefined)?.exitCode ?? EXIT.ok
  },
}

/** Loads the checks, which import every store. */
function loadDoctor(): typeof doctor {
  return require('../doctor/examine.js') as typeof doctor
}

/** Names the settings of this machine, also those that an option or a variable outweighs. */
function hostFile(): Finding[] {
  const settings = readHostSettings(process.env, false)
  if (settings === undefined) return []
  const { file, ...found } = settings
  return [ok('settings', `${file}: ${Object.keys(found).join(', ') || 'empty'}`)]
}

async function printAcl(location: StoreLocation, json: boolean): Promise<number> {
  if (kindOf(schemeOf(location.url))?.name !== 'redis') {
    throw new UsageError('--print-acl is for Redis. Give --store the URL of a Redis server.')
  }
  const acl = await loadDoctor().redisAcl(location)
  if (json) printAnswer(acl)
  else stdout().write(`${acl.command}\n`)
  return EXIT.ok
}

const MARKS = { ok: 'ok', warning: 'WARNING', failure: 'FAILED' } as const
const STYLES = { ok: 'green', warning: 'yellow', failure: 'red' } as const

function line({ check, verdict, text }: Finding, paint: Paint): string {
  const mark = paint(STYLES[verdict], MARKS[verdict]) + ' '.repeat(9 - MARKS[verdict].length)
  return `${mark}${check.padEnd(12)}${printableLines(text)}\n`
}
