/** As much of redlock 5 as is measured: its package does not say where its types are. */
declare module 'redlock' {
  import type { Redis } from 'ioredis5'

  export interface Lock {
    release(): Promise<unknown>
  }

  export default class Redlock {
    constructor(
      clients: readonly Redis[],
      settings: { readonly retryDelay?: number; readonly retryJitter?: number; readonly retryCount?: number },
    )
    acquire(resources: readonly string[], ttlMs: number): Promise<Lock>
  }
}
