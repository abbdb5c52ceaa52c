/**
 * Commands of many words through ioredis.
 *
 * The library copies the words of each command with `Array.prototype.flat`. With 66 words that
 * takes 10 µs, longer than all else that it does to write them. So here it makes the command
 * without words, which are added before it is sent.
 */
import type { IoRedisClient } from '../../clients.js'

/** As much of a `Command` of ioredis as is used here. */
interface Command {
  args: readonly string[]
}

/** Sends a command with these words. */
export type SendWords = (name: string, words: readonly string[]) => Promise<unknown>

/** Returns what sends commands through the client. */
export function sendWordsOf(client: IoRedisClient): SendWords {
  return directSender(client) ?? ((name, words) => client.call(name, ...words))
}

/** Undefined for a client that does more with a command than to send it. */
function directSender(client: IoRedisClient): SendWords | undefined {
  const { keyPrefix = '', enableAutoPipelining } = client.options
  if (keyPrefix !== '' || enableAutoPipelining === true) return undefined
  if (!sendsCommands(client) || Object.hasOwn(client, 'call')) return undefined
  // For this object `call` makes a command, and returns it instead of the answer. The program may
  // change the options later.
  const maker = Object.create(client, {
    options: { value: { ...client.options } },
    sendCommand: { value: (made: unknown) => made },
  }) as IoRedisClient
  const { call } = client as { call: (this: IoRedisClient, name: string) => unknown }
  const first = call.call(maker, 'PING')
  if (!isCommand(first)) {
    // A client of another kind has sent it.
    Promise.resolve(first).catch(() => undefined)
    return undefined
  }
  return (name, words) => {
    // The program may have put a function of its own in its place.
    if (client.call !== call) return client.call(name, ...words)
    const command = call.call(maker, name) as Command
    command.args = words
    return client.sendCommand(command)
  }
}

type SendsCommands = IoRedisClient & { sendCommand(command: Command): Promise<unknown> }

function sendsCommands(client: IoRedisClient): client is SendsCommands {
  return 'sendCommand' in client && typeof client.sendCommand === 'function'
}

function isCommand(made: unknown): made is Command {
  return (
    typeof made === 'object' &&
    made !== null &&
    'args' in made &&
    Array.isArray(made.args) &&
    'toWritable' in made
  )
}
