/** As much of redlock 5 as is measured and tried: its package does not say where its types are. */
declare module 'redlock' {
  import type { Redis } from 'ioredis5'

  export interface Lock {
    release(): Promise<unknown>
  }

  export interface Settings {
    readonly retryDelay?: number
    readonly retryJitter?: number
    readonly retryCount?: number
    readonly automaticExtensionThreshold?: number
  }

  export default class Redlock {
    constructor(clients: readonly Redis[], settings: Settings)
    acquire(resources: readonly string[], ttlMs: number): Promise<Lock>
    using<T>(
      resources: readonly string[],
      ttlMs: number,
      routine: (signal: AbortSignal) => Promise<T>,
    ): Promise<T>
    on(event: 'error', listener: (error: Error) => void): this
  }
}
