/** What a command of the modelled Redis is. */
import { ReplyError, type Reply } from '../redis-connection.js'
import type { Keyspace } from './keyspace.js'

export interface Server {
  readonly keys: Keyspace
  publish(channel: string, message: string): void
}

export type Run = (server: Server, args: readonly string[]) => Reply

export interface ModelCommand {
  /** How many arguments it takes. */
  readonly least: number
  readonly most: number
  readonly run: Run
}

export function takes(least: number, most: number, run: Run): ModelCommand {
  return { least, most, run }
}

/**
 * Reads what Redis accepts as an integer. Beyond 2^53 the model would be wrong, and no control goes
 * there.
 */
export function integer(text: string): number {
  const value = Number(text)
  if (!/^(0|-?[1-9]\d*)$/.test(text) || !Number.isSafeInteger(value)) throw notAnInteger()
  return value
}

export function syntaxError(): ReplyError {
  return new ReplyError('ERR syntax error')
}

function notAnInteger(): ReplyError {
  return new ReplyError('ERR value is not an integer or out of range')
}
