/**
 * The entry of `holdfast run` on the embedded store. The bundle makes one small CommonJS file of
 * it, which Node loads sooner than all commands and stores. It behaves as the main entry does.
 */
import type { TakeSignal } from './commands/command.js'
import { command } from './commands/run.js'
import { runCommand, start as startProgram } from './start-and-exit.js'

export function start(takeSignal: TakeSignal): Promise<never> {
  return startProgram(([, ...args], take) => runCommand(command, args, take), takeSignal)
}
