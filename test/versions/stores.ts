/** The stores in which old and new processes meet, with the places where both find them. */
import { STORES as ALL, waysTo } from '@holdfast/stores'
import type { LockRequest } from './process.js'

export interface Service {
  /** What a worker is started with. */
  readonly args: readonly string[]
  stop(): Promise<unknown>
}

export interface StoreBeside {
  readonly name: string
  readonly kinds: readonly LockRequest['kind'][]
  /** How long a lease lasts, in milliseconds. */
  readonly ttlMs: number
  start(): Promise<Service>
}

export const STORES: readonly StoreBeside[] = ALL.flatMap((store) => {
  const { name, besidePreviousMs: ttlMs, service, torture } = store
  if (ttlMs === undefined) return []
  return waysTo(store, 'daily').map(({ title, library = '' }) => ({
    name: title,
    kinds: ['mutex', 'reader', 'writer', ...(torture.counts ? (['semaphore'] as const) : [])],
    ttlMs,
    async start() {
      // The first process makes the tables of a database, in the one or the other version.
      const { at, remove } = await service.start({ empty: true })
      return { args: [name, library, ...at], stop: remove }
    },
  }))
})
