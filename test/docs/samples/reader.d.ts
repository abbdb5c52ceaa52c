/** What the samples use of the reader's program. `reader.mjs` defines it. */

type Lease = import('holdfast').Lease
interface Terms {
  readonly signal: AbortSignal
  readonly token: bigint
}
interface Stock extends Record<string, unknown> {
  readonly amount: number
}

declare function work(): Promise<void>
declare function charge(order: string, terms: Terms): Promise<void>
declare function load(id: number): Promise<{ readonly id: number }>
declare function ship(order: { readonly id: number }, terms: Terms): Promise<void>
declare function markShipped(order: { readonly id: number }): Promise<void>
declare function importFiles(lease: Lease): Promise<void>
declare function schedule(terms: { readonly signal: AbortSignal }): Promise<void>
declare function buildAndStore(): Promise<string>
declare function readStored(): Promise<string | undefined>
declare function buildReport(): Promise<string>
declare function checkout(user: string, terms: { readonly signal: AbortSignal }): Promise<void>
declare function migrate(): Promise<void>
declare function poll(terms: Terms): Promise<void>
declare function stop(): void
declare function train(): Promise<void>
declare function seenEnough(): boolean

declare const userId: string
declare const signal: AbortSignal
declare const shutdown: AbortSignal

declare const locks: import('holdfast').Locks
declare const lock: import('holdfast').Semaphore
declare const lease: Lease
declare const pool: import('pg').Pool
declare const sql: import('postgres').Sql
declare const db: import('kysely').Kysely<{ stock: { id: number; amount: number } }>
declare const server: import('node:http').Server
declare const client: { disconnect(): void }
declare const redis: import('ioredis').Redis
