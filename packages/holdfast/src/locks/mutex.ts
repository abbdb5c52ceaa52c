/**
 * A mutex: one holder at a time. It excludes the readers and the writer of a readers-writer lock of
 * its name as well.
 */
import type { Client } from '../lease/client.js'
import { LOCK_KEYS, lockSettings, type LockOptions } from '../options/lock-options.js'
import { checkKeys } from '../options/known-keys.js'
import { CAPACITY_ALL } from '../store/contract.js'
import { BasicLock, type Lockable } from './lock.js'

/** A lock for one holder at a time. */
export type Mutex = Lockable

/** @param call the public call whose options these are */
export function mutex(
  client: Client,
  name: string,
  options: LockOptions = {},
  call = 'mutex',
): BasicLock {
  checkKeys(call, options, LOCK_KEYS, { lock: name })
  const settings = lockSettings(options, client.settings, client.runtime.store)
  const whole = { capacity: CAPACITY_ALL, weight: CAPACITY_ALL } as const
  const template = { lock: name, kind: 'mutex', ...whole, ttlMs: settings.ttlMs } as const
  const isElection = call === 'election'
  return new BasicLock(client, isElection ? { ...template, isElection } : template, settings)
}
