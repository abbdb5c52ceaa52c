/**
 * A command that deletes a key only while it holds a value: `DELEX key IFEQ value` of Redis 8.4, `DELIFEQ key value` of
 * Valkey 9. Where there is one, a release need not watch the key of the lock, and is not repeated because somebody renewed
 * it in between.
 */
import { isServerError } from '../errors.js'
import type { OwnConnection } from '../transports/transport.js'
import type { Command } from './session.js'

export type CompareDelete = (key: string, value: string) => Command

const KNOWN: readonly (readonly [name: string, make: CompareDelete])[] = [
  ['DELEX', (key, value) => ['DELEX', key, 'IFEQ', value]],
  ['DELIFEQ', (key, value) => ['DELIFEQ', key, value]],
]

/**
 * Asks the server which one it has, and tries that out: a user may not be allowed to it. Undefined where there is none.
 * @param key a key that is nobody's
 */
export async function findCompareDelete(
  connection: OwnConnection,
  key: string,
): Promise<CompareDelete | undefined> {
  try {
    const infos = await connection.call('COMMAND', 'INFO', ...KNOWN.map(([name]) => name))
    if (!Array.isArray(infos)) return undefined
    // The answers come in the order of the names, and are empty for a command that does not exist.
    const found = KNOWN.find((_, index) => Array.isArray(infos[index]) && infos[index].length > 0)
    if (!found) return undefined
    await connection.call(...found[1](key, ''))
    return found[1]
  } catch (error) {
    // It may not be asked, or not be used: then there is the way that every server knows.
    if (isServerError(error)) return undefined
    throw error
  }
}
