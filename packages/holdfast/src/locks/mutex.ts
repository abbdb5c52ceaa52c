/** A mutex: one holder at a time. */
import type { Client } from '../lease/client.js'
import type { Lease } from '../lease/lease.js'
import { lockSettings, type LockOptions } from '../lease/settings.js'
import { BasicLock, type Lockable } from './lock.js'

export type Mutex<F extends boolean = boolean> = Lockable<Lease<F>>

export function mutex<F extends boolean>(client: Client, name: string, options?: LockOptions): Mutex<F> {
  const settings = lockSettings(options, client.settings, client.store)
  const shape = { lock: name, kind: 'mutex', capacity: 1, weight: 1, ttlMs: settings.ttlMs } as const
  return new BasicLock<Lease<F>>(client, shape, settings)
}
