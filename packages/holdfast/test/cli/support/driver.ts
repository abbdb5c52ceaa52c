import { fileURLToPath } from 'node:url'
import { Program, type ProgramOptions } from './program.js'

export const DRIVER = fileURLToPath(new URL('../drivers/supervise.mjs', import.meta.url))

export interface DriverOptions {
  readonly hang?: boolean
  /** Kills the guardian as soon as it is there. */
  readonly guardian?: 'dead'
  readonly refuse?: boolean
  readonly untilMs?: number
  readonly endAfterMs?: number
  readonly graceMs?: number
  readonly mayContinue?: boolean
}

/** Starts one supervised job without a terminal and without a lock. */
export function driver(
  options: DriverOptions,
  command: readonly string[],
  program: ProgramOptions = {},
): Program {
  return new Program(process.execPath, [DRIVER, JSON.stringify(options), ...command], program)
}
