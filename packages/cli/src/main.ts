/**
 * The entry of the command line: finds the command, runs it, and turns whatever happens into an
 * exit code.
 */
import { readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { nearest } from './args/suggest.js'
import { ConfigError, UsageError } from './cli-error.js'
import type { Command, TakeSignal } from './commands/command.js'
import { COMMANDS } from './commands/index.js'
import { EXIT } from './exit-codes.js'
import { stdoutFailure, watchStdout } from './output/stdout.js'
import { MANIFEST } from './paths.js'
import { failureOf, tellFailure } from './report.js'

async function main(argv: readonly string[], takeSignal: TakeSignal): Promise<number> {
  const [word, ...args] = argv
  try {
    if (word === undefined) throw new UsageError('Which command? See holdfast --help.')
    if (word === '--version' || word === '-V') return print(`${version()}\n`)
    if (word === '--help' || word === '-h') return print(overview())
    if (word !== 'help') return await run(await find(word), args, takeSignal)
    return args[0] === undefined
      ? print(overview())
      : await run(await find(args[0]), ['--help'], takeSignal)
  } catch (error) {
    const failure = failureOf(error)
    tellFailure(failure, asksForJson(args))
    return failure.exitCode
  }
}

async function run(
  command: Command,
  args: readonly string[],
  takeSignal: TakeSignal,
): Promise<number> {
  if (command.takesSignals !== true) {
    // Node hands a signal to its listeners in a later turn. One that has arrived by now must not
    // get lost with them.
    for (let turns = 0; turns < 2; turns += 1) await nextTurn()
    const signal = takeSignal()
    // Nobody listens any more, so it ends this process.
    if (signal !== undefined) process.kill(process.pid, signal)
  }
  return command.main(args, takeSignal)
}

async function find(word: string): Promise<Command> {
  const entry = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined
  if (entry !== undefined) return entry.load()
  const near = nearest(word, Object.keys(COMMANDS))
  const hint = near === undefined ? 'See holdfast --help.' : `Did you mean ${near}?`
  throw new UsageError(`There is no command ${JSON.stringify(word)}. ${hint}`)
}

/** Options could not be read, perhaps, so this looks for the word itself. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).includes('--json')
}

function overview(): string {
  const rows = Object.entries(COMMANDS).map(([name, { about }]) => `  ${name.padEnd(10)}${about}`)
  return `Usage: holdfast COMMAND [options]

Locks that hold across processes and machines.

${rows.join('\n')}

  holdfast run nightly -- ./backup.sh          run a job, never twice at once
  holdfast run deploy --wait 10m -- make ship  wait at most ten minutes for another run
  holdfast ls                                  see who holds and who waits

Options of a command: holdfast COMMAND --help
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

/** Output into a pipe may still be on its way, and exit() would cut it off. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve()
    else stream.write('', () => resolve())
  })
}

/**
 * Whoever reads a listing that is cut off must not take it for all there is. Another failure of
 * ours says more.
 */
function withOutput(exitCode: number): number {
  const error = stdoutFailure()
  // `holdfast ls | head`: whoever closes the pipe has seen enough.
  if (error === null || error.code === 'EPIPE' || exitCode !== EXIT.ok) return exitCode
  const failure = failureOf(
    new ConfigError(
      `The output could not be written: ${error.message}. Write it elsewhere, or make room.`,
    ),
  )
  tellFailure(failure, asksForJson(process.argv.slice(3)))
  return failure.exitCode
}

/** Runs the command line of this process to its end. */
export async function start(takeSignal: TakeSignal): Promise<never> {
  // What is wrong with stdout is told at the end, and what is wrong with stderr can be told
  // nowhere.
  watchStdout()
  process.stderr.on('error', () => {})
  const exitCode = await main(process.argv.slice(2), takeSignal)
  await flushed(process.stdout)
  const told = withOutput(exitCode)
  await flushed(process.stderr)
  process.exit(told)
}
