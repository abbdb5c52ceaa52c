/** A striped lock: one name, several mutexes, and each key always falls on the same one of them. */
import { LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import { describe } from '../options/describe.js'
import { checkKeys, checkNoOptions, type KnownKeys } from '../options/known-keys.js'
import { LOCK_KEYS, lockSettings, type LockOptions } from '../options/lock-options.js'
import { checkWhole } from '../options/whole-number.js'
import { checkName } from '../store/names.js'
import { mutex, type Mutex } from './mutex.js'

/** The options of `locks.striped`. */
export interface StripedOptions extends LockOptions {
  /** How many mutexes. Changing it moves keys to other stripes: all clients must agree. */
  readonly stripes: number
}

const STRIPED_KEYS: KnownKeys<StripedOptions> = { stripes: 1, ...LOCK_KEYS }

/** A fixed number of mutexes for any number of keys. */
export interface StripedLock {
  /** The full name, namespace included. */
  readonly name: string
  /** How many mutexes there are. */
  readonly stripes: number
  /** The mutex that guards this key. */
  for(key: string): Mutex
  /** The mutex of one stripe, counted from 0: to take several with `multi`. */
  at(stripe: number): Mutex
  /** The stripe that this key falls on. */
  indexOf(key: string): number
}

const MOST_STRIPES = 65_536

export function striped(client: Client, name: string, options: StripedOptions): StripedLock {
  checkKeys('striped', options, STRIPED_KEYS, { lock: name })
  const { stripes, ...rest } = options
  checkWhole(`The stripes of "${name}"`, stripes, { max: MOST_STRIPES }, { lock: name })
  // The name of the last stripe is the longest.
  checkName(nameOf(stripes - 1), 'lock name with its stripe')
  // The mutexes are made when they are first used. Their options are checked now.
  lockSettings(rest, client.settings, client.runtime.store)
  const made = new Map<number, Mutex>()

  function nameOf(stripe: number): string {
    return `${name}#${stripe}`
  }

  function at(stripe: number, extra?: unknown): Mutex {
    checkNoOptions('at', extra, { lock: name })
    checkWhole(`A stripe of "${name}"`, stripe, { min: 0, max: stripes - 1 }, { lock: name })
    let lock = made.get(stripe)
    if (!lock) made.set(stripe, (lock = mutex(client, nameOf(stripe), rest)))
    return lock
  }

  function indexOf(key: string, extra?: unknown): number {
    checkNoOptions('indexOf', extra, { lock: name })
    if (typeof key !== 'string')
      throw new LockUsageError(`A key of "${name}" must be a string, not ${describe(key)}.`)
    return hash32(key) % stripes
  }

  function forKey(key: string, extra?: unknown): Mutex {
    checkNoOptions('for', extra, { lock: name })
    return at(indexOf(key))
  }

  return { name, stripes, at, indexOf, for: forKey }
}

/**
 * FNV-1a over the UTF-8 bytes, then the finaliser of MurmurHash3, without which short keys share
 * their low bits.
 */
function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
