/** Commands on strings. */
import { ReplyError, type Reply } from '../redis-connection.js'
import { integer, syntaxError, takes, type ModelCommand, type Server } from './command.js'

export const STRINGS: Record<string, ModelCommand> = {
  GET: takes(1, 1, ({ keys }, [key = '']) => keys.string(key) ?? null),
  SET: takes(2, Infinity, set),
  SETNX: takes(2, 2, ({ keys }, [key = '', value = '']) => {
    if (keys.has(key)) return 0
    keys.set(key, value)
    return 1
  }),
  INCR: takes(1, 1, ({ keys }, [key = '']) => {
    const next = integer(keys.string(key) ?? '0') + 1
    keys.update(key, String(next))
    return next
  }),
}

interface SetOptions {
  readonly expiresAtMs?: number
  readonly condition?: 'NX' | 'XX'
}

function set({ keys }: Server, [key = '', value = '', ...options]: readonly string[]): Reply {
  const { expiresAtMs, condition } = setOptions(options, keys.nowMs)
  if (condition !== undefined && keys.has(key) !== (condition === 'XX')) return null
  keys.set(key, value, expiresAtMs)
  return 'OK'
}

/** `NX` or `XX`, and `EX seconds` or `PX milliseconds`, in any order. */
function setOptions(options: readonly string[], nowMs: number): SetOptions {
  let found: SetOptions = {}
  for (let index = 0; index < options.length; index += 1) {
    const option = options[index]?.toUpperCase()
    if ((option === 'NX' || option === 'XX') && found.condition === undefined) {
      found = { ...found, condition: option }
    } else if ((option === 'EX' || option === 'PX') && found.expiresAtMs === undefined) {
      index += 1
      found = { ...found, expiresAtMs: nowMs + lifetimeMs(options[index], option) }
    } else throw syntaxError()
  }
  return found
}

function lifetimeMs(amount: string | undefined, unit: 'EX' | 'PX'): number {
  if (amount === undefined) throw syntaxError()
  const value = integer(amount)
  if (value <= 0) throw new ReplyError("ERR invalid expire time in 'set' command")
  return unit === 'EX' ? value * 1000 : value
}
