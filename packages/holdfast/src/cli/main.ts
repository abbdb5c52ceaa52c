/** The entry of the command line: finds the command by its name. */
import { readFileSync } from 'node:fs'
import { nearest } from '../options/nearest-word.js'
import { UsageError } from './cli-error.js'
import type { Command, TakeSignal } from './commands/command.js'
import { COMMANDS, isCommand, SYNONYMS } from './commands/index.js'
import { EXIT } from './exit-codes.js'
import { MANIFEST } from './paths.js'
import { runCommand, start as startProgram } from './start-and-exit.js'
import { stderr, stdout } from './output/streams.js'

/** Runs the command line of this process to its end. */
export function start(takeSignal: TakeSignal): Promise<never> {
  return startProgram(main, takeSignal)
}

async function main(argv: readonly string[], takeSignal: TakeSignal): Promise<number> {
  const [word, ...args] = argv
  // From now on failures of stdout are noticed, also those of the lab.
  if (word !== 'run') stdout()
  if (word === undefined) {
    stderr().write(overview())
    return EXIT.usage
  }
  if (['--version', '-V', '-v'].includes(word)) return print(`${version()}\n`)
  if (word === '--help' || word === '-h') return print(overview())
  if (word !== 'help') return runCommand(find(word), args, takeSignal)
  return args[0] === undefined || args[0] === 'help'
    ? print(overview())
    : runCommand(find(args[0]), ['--help'], takeSignal)
}

function find(word: string): Command {
  if (isCommand(word)) return COMMANDS[word].load()
  const near = Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word] : nearest(word, Object.keys(COMMANDS))
  const hint = near === undefined ? 'See holdfast --help.' : `Did you mean ${near}?`
  throw new UsageError(`There is no command ${JSON.stringify(word)}. ${hint}`)
}

function overview(): string {
  const rows = Object.entries(COMMANDS).map(([name, { about }]) => `  ${name.padEnd(12)}${about}`)
  return `Usage: holdfast COMMAND [options]

Locks that hold across processes and machines.

${rows.join('\n')}

  holdfast run deploy --wait 10m -- make ship  wait at most ten minutes for another run
  holdfast ls                                  list holders and waiters

In a crontab, so that runs do not pile up behind one that hangs:
  0 2 * * *  holdfast run nightly --wait 0 --skip-ok --at-most-for 6h -- /usr/local/bin/backup.sh

Options of a command: holdfast help COMMAND
`
}

function version(): string {
  const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8')) as {
    version: string
  }
  return manifest.version
}

function print(text: string): number {
  stdout().write(text)
  return EXIT.ok
}
