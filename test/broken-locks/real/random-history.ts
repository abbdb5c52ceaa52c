/**
 * Random commands and scripts on few keys, and answers in a form that two servers can be compared
 * by.
 */
import {
  isReplyError,
  SCRIPTS,
  type Command,
  type Reply,
  type Script,
} from '@holdfast/broken-locks'
import type { Random } from 'holdfast'

export type Step =
  | { readonly command: Command }
  | {
      readonly script: Script
      readonly keys: readonly string[]
      readonly args: readonly (string | number)[]
    }

const LOCK = 'lock'
const COUNTER = 'lock:token'
const IDS = ['one', 'two', 'three']
/**
 * So long that the time that a test takes does not matter: what expires, expires by EXPIRE with 0.
 */
const TTLS_MS = [100_000, 500_000]

/**
 * Mostly scripts on one lock, and commands that may give its keys another type, delete or end them.
 */
export function randomStep(random: Random): Step {
  const id = pick(random, IDS)
  const ttlMs = pick(random, TTLS_MS)
  const tombstone = `lock:gone:${id}`
  if (random.next() < 0.5) return { command: randomCommand(random, id, ttlMs) }
  const script = pick(random, SCRIPTS)
  switch (script.name) {
    case 'next-token':
      return { script, keys: [COUNTER], args: [ttlMs] }
    case 'free':
      return { script, keys: [LOCK, tombstone], args: [id, ttlMs, 'lock:freed'] }
    case 'renew':
    case 'compare-and-delete':
    case 'enter':
    case 'leave':
    case 'renew-hash':
      return { script, keys: [LOCK], args: [id, ttlMs] }
    default:
      return { script, keys: [LOCK, COUNTER, tombstone], args: [id, ttlMs, ttlMs] }
  }
}

function randomCommand(random: Random, id: string, ttlMs: number): Command {
  const key = pick(random, [LOCK, LOCK, COUNTER, `lock:gone:${id}`, 'other'])
  return pick<Command>(random, [
    ['GET', key],
    ['SET', 'other', pick(random, ['7', 'text', '007', '-0'])],
    ['SET', 'other', 7, 'PX', ttlMs],
    ['SET', LOCK, id, 'NX', 'PX', ttlMs],
    ['SET', LOCK, id, 'EX', ttlMs / 1000, 'XX'],
    ['SET', LOCK, id, 'PX', pick(random, ['0', '-5', 'soon'])],
    ['SET', LOCK, id, pick(random, ['NX', 'PX', 'XY']), 'XX'],
    ['SET', LOCK],
    ['SETNX', key, 1],
    ['INCR', pick(random, ['other', LOCK])],
    ['EXPIRE', key, pick(random, [0, -1, 100, 'soon'])],
    ['PEXPIRE', key, pick(random, [0, 100_000])],
    ['PTTL', key],
    ['PTTL', 'other'],
    ['EXISTS', key, 'other'],
    ['DEL', key],
    ['DEL', LOCK, COUNTER, 'other'],
    ['HSET', pick(random, [LOCK, 'other']), id, 1, 'field', 'text'],
    ['HSET', LOCK, id, 1, 'odd'],
    ['HGET', key, id],
    ['HEXISTS', key, id],
    ['HINCRBY', key, pick(random, [id, 'field']), pick(random, [1, -1, 'much'])],
    ['HDEL', key, pick(random, [id, 'field', 'other'])],
    ['HDEL', LOCK, id, 'field'],
    ['PUBLISH', 'lock:freed', id],
    ['NONSENSE', id],
  ])
}

export type Outcome = { readonly reply: Reply } | { readonly error: string }

/** An error's first word inside a script, for Redis adds where it came from. */
export async function outcomeOf(step: Step, run: () => Reply | Promise<Reply>): Promise<Outcome> {
  try {
    return { reply: await run() }
  } catch (error) {
    if (!isReplyError(error)) throw error
    const { message } = error as Error
    return { error: 'script' in step ? message.replace(/ .*/s, '') : message }
  }
}

/**
 * Makes answers comparable: tokens, which hold the time, become their rank among those seen, and
 * what is left of a TTL is rounded. One for each server.
 */
export class Normaliser {
  readonly #tokens: string[] = []

  of(outcome: Outcome): unknown {
    if ('error' in outcome)
      return { error: outcome.error.replace(/, with args beginning with.*/s, '') }
    return { reply: this.#reply(outcome.reply) }
  }

  #reply(reply: Reply): unknown {
    if (Array.isArray(reply)) return (reply as readonly Reply[]).map((part) => this.#reply(part))
    if (typeof reply === 'number' && reply > 50_000)
      return `about ${Math.round(reply / 20_000) * 20} s`
    if (typeof reply !== 'string' || !/^\d{15,}$/.test(reply)) return reply
    if (!this.#tokens.includes(reply)) this.#tokens.push(reply)
    const rank = this.#tokens.toSorted((a, b) => Number(a) - Number(b)).indexOf(reply)
    return `token ${this.#tokens.indexOf(reply)}, rank ${rank}`
  }
}

function pick<T>(random: Random, among: readonly T[]): T {
  return among[Math.floor(random.next() * among.length)] as T
}
