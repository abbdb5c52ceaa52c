/** Commands on hashes. */
import { ReplyError, type Reply } from '../redis-connection.js'
import { integer, takes, type ModelCommand, type Server } from './command.js'

export const HASHES: Record<string, ModelCommand> = {
  HGET: takes(2, 2, ({ keys }, [key = '', field = '']) => keys.hash(key)?.get(field) ?? null),
  HEXISTS: takes(2, 2, ({ keys }, [key = '', field = '']) => (keys.hash(key)?.has(field) ? 1 : 0)),
  HSET: takes(3, Infinity, hset),
  HINCRBY: takes(3, 3, ({ keys }, [key = '', field = '', by = '']) => {
    const step = integer(by)
    const hash = new Map(keys.hash(key))
    const next = hashInteger(hash.get(field) ?? '0') + step
    keys.update(key, hash.set(field, String(next)))
    return next
  }),
  HDEL: takes(2, Infinity, hdel),
}

function hset({ keys }: Server, [key = '', ...pairs]: readonly string[]): Reply {
  if (pairs.length % 2 !== 0)
    throw new ReplyError("ERR wrong number of arguments for 'hset' command")
  const hash = new Map(keys.hash(key))
  const before = hash.size
  for (let index = 0; index < pairs.length; index += 2)
    hash.set(pairs[index] ?? '', pairs[index + 1] ?? '')
  keys.update(key, hash)
  return hash.size - before
}

function hdel({ keys }: Server, [key = '', ...fields]: readonly string[]): Reply {
  const hash = new Map(keys.hash(key))
  const gone = fields.filter((field) => hash.delete(field)).length
  // A hash without fields does not exist.
  if (hash.size === 0) keys.delete(key)
  else keys.update(key, hash)
  return gone
}

function hashInteger(text: string): number {
  try {
    return integer(text)
  } catch {
    throw new ReplyError('ERR hash value is not an integer')
  }
}
