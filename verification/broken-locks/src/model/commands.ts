/**
 * The commands that a modelled Redis knows, by name: what the controls use, and FLUSHALL as a
 * fault.
 */
import { takes, type ModelCommand } from './command.js'
import { EXPIRY } from './expiry.js'
import { HASHES } from './hashes.js'
import { STRINGS } from './strings.js'

const OTHERS: Record<string, ModelCommand> = {
  EXISTS: takes(1, Infinity, ({ keys }, names) => names.filter((key) => keys.has(key)).length),
  DEL: takes(1, Infinity, ({ keys }, names) => names.filter((key) => keys.delete(key)).length),
  TIME: takes(0, 0, ({ keys }) => [
    String(Math.floor(keys.nowUs / 1_000_000)),
    String(keys.nowUs % 1_000_000),
  ]),
  PUBLISH: takes(2, 2, (server, [channel = '', message = '']) => {
    server.publish(channel, message)
    // Redis answers how many connections got it. The model has no connections.
    return 0
  }),
  FLUSHALL: takes(0, 0, ({ keys }) => {
    keys.clear()
    return 'OK'
  }),
}

export const COMMANDS: ReadonlyMap<string, ModelCommand> = new Map(
  Object.entries({ ...STRINGS, ...EXPIRY, ...HASHES, ...OTHERS }),
)
