/** The entry of the command line: finds the command, runs it, and ends with its exit code. */
import { readFileSync } from 'node:fs'
import { setImmediate as nextTick } from 'node:timers/promises'
import { nearest } from './args/suggest.js'
import { ConfigError, UsageError } from './cli-error.js'
import type { Command, TakeSignal } from './commands/command.js'
import { COMMANDS, SYNONYMS } from './commands/index.js'
import { EXIT } from './exit-codes.js'
import { stdoutFailure, watchStdout } from './output/stdout.js'
import { MANIFEST } from './paths.js'
import { failureOf, writeFailure } from './report.js'

async function main(argv: readonly string[], takeSignal: TakeSignal): Promise<number> {
  const [word, ...args] = argv
  try {
    if (word === undefined) {
      process.stderr.write(overview())
      return EXIT.usage
    }
    if (['--version', '-V', '-v'].includes(word)) return print(`${version()}\n`)
    if (word === '--help' || word === '-h') return print(overview())
    if (word !== 'help') return await run(await find(word), args, takeSignal)
    return args[0] === undefined
      ? print(overview())
      : await run(await find(args[0]), ['--help'], takeSignal)
  } catch (error) {
    const failure = failureOf(error)
    writeFailure(failure, asksForJson(args))
    return failure.exitCode
  }
}

async function run(
  command: Command,
  args: readonly string[],
  takeSignal: TakeSignal,
): Promise<number> {
  if (command.takesSignals !== true) {
    // Node delivers a signal in a later tick. One that has already arrived must not be lost.
    for (let ticks = 0; ticks < 2; ticks += 1) await nextTick()
    const signal = takeSignal()
    // Without a listener the signal ends this process.
    if (signal !== undefined) process.kill(process.pid, signal)
  }
  return command.main(args, takeSignal)
}

async function find(word: string): Promise<Command> {
  const entry = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined
  if (entry !== undefined) return entry.load()
  const near = Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word] : nearest(word, Object.keys(COMMANDS))
  const hint = near === undefined ? 'See holdfast --help.' : `Did you mean ${near}?`
  throw new UsageError(`There is no command ${JSON.stringify(word)}. ${hint}`)
}

/** Finds the word itself, since the options may have been refused. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).includes('--json')
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
  process.stdout.write(text)
  return EXIT.ok
}

/** Resolves when all output is written: `exit()` would cut off what a pipe has not taken. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve()
    else stream.write('', () => resolve())
  })
}

/** Reports output that could not be written, unless another failure was reported already. */
function withOutput(exitCode: number): number {
  const error = stdoutFailure()
  // `holdfast ls | head`: a reader that closes the pipe has read enough.
  if (error === null || error.code === 'EPIPE' || exitCode !== EXIT.ok) return exitCode
  const failure = failureOf(
    new ConfigError(
      `The output could not be written: ${error.message}. Write it elsewhere, or make room.`,
    ),
  )
  writeFailure(failure, asksForJson(process.argv.slice(3)))
  return failure.exitCode
}

/** Runs the command line of this process to its end. */
export async function start(takeSignal: TakeSignal): Promise<never> {
  // A failure of stdout is reported at the end. A failure of stderr cannot be reported.
  watchStdout()
  process.stderr.on('error', () => {})
  const exitCode = await main(process.argv.slice(2), takeSignal)
  await flushed(process.stdout)
  const finalCode = withOutput(exitCode)
  await flushed(process.stderr)
  process.exit(finalCode)
}
