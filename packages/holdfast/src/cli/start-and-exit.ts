/** Runs a command line to its end: reports its failure, flushes its output, exits with its code. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { ConfigError } from './cli-error.js'
import type { Command, TakeSignal } from './commands/command.js'
import { EXIT } from './exit-codes.js'
import { closeGoneTerminal } from './output/gone-terminal.js'
import { keepLibraryMessages } from './output/library-messages.js'
import { flushed, stdoutFailure } from './output/streams.js'
import { failureOf, writeFailure } from './failure.js'

/** Resolves with the exit code. A rejection is reported and turned into one. */
export type Main = (argv: readonly string[], takeSignal: TakeSignal) => Promise<number>

export async function start(main: Main, takeSignal: TakeSignal): Promise<never> {
  keepLibraryMessages()
  const argv = process.argv.slice(2)
  const exitCode = await exitCodeOf(main, argv, takeSignal)
  await flushed()
  const finalCode = withOutput(exitCode, argv)
  await flushed()
  closeGoneTerminal()
  process.exit(finalCode)
}

/** Runs one command. Unless it takes the signals itself, a signal ends the process. */
export async function runCommand(
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

async function exitCodeOf(
  main: Main,
  argv: readonly string[],
  takeSignal: TakeSignal,
): Promise<number> {
  try {
    return await main(argv, takeSignal)
  } catch (error) {
    const failure = failureOf(error)
    writeFailure(failure, asksForJson(argv))
    return failure.exitCode
  }
}

/** Finds the word itself, since the options may have been refused. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json')
}

/** Reports output that could not be written, unless another failure was reported already. */
function withOutput(exitCode: number, argv: readonly string[]): number {
  const error = stdoutFailure()
  // `holdfast ls | head`: a reader that closes the pipe has read enough.
  if (error === null || error.code === 'EPIPE' || exitCode !== EXIT.ok) return exitCode
  const failure = failureOf(
    new ConfigError(
      `The output could not be written: ${error.message}. Write it elsewhere, or make room.`,
    ),
  )
  writeFailure(failure, asksForJson(argv))
  return failure.exitCode
}
