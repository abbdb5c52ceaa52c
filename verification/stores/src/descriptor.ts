/** What tests, torture and benches know of a store: each module of `kinds/` exports one. */
import type { NewestServer } from '@holdfast/servers/newest'
import type { Store } from 'holdfast/store'
import type { Connection } from './connection.js'
import type { AnyFaultKind, FaultKind } from './faults/catalogue.js'
import type { Cell } from './faults/cells.js'
import type { Target } from './faults/target.js'

export interface StoreDescriptor {
  /** Names the store on command lines and in files: the name of the descriptor's module. */
  readonly name: string
  readonly title: string
  /** Where the store stands in lists: the smallest number comes first. */
  readonly order: number
  readonly torture: TorturedStore
}

export interface OpenStore {
  readonly store: Store
  /** Closes the clients that the store was given. The store leaves them open. */
  readonly end: () => Promise<unknown> | void
}

/**
 * Loads a store's module of the library under test, such as `redis`: another version, or a copy
 * that is broken on purpose.
 */
export type LoadModule = <Module>(name: string) => Promise<Module>

/** What the store promises under each fault. */
export type Promises = Readonly<Record<FaultKind, Cell>>

/** A program on the path or a file, and Debian's package that has it. */
export type Need = readonly [needed: string, debian: string]

/** How the torture tries the store, and what is promised. */
export interface TorturedStore {
  readonly ttlMs: number
  /** Processes that contend. What lives in one process has one. */
  readonly clients: number
  /** How many servers there are. */
  readonly servers: number
  /**
   * How long a waiter may wait after everything was healed, in milliseconds. It includes the lease
   * of a dead holder, the heartbeats of dead waiters, the re-attempt floor, a round trip and a
   * hand-off. It also includes the time in which the service itself comes back.
   */
  readonly boundMs: number
  /** Leases have fencing tokens. */
  readonly fenced: boolean
  /** The store shows its holders and waiters. */
  readonly inspects: boolean
  /** Leases can pass to another process. */
  readonly exports: boolean
  /** The store ends a wait of nested runs that would never end. */
  readonly findsDeadlocks: boolean
  /** The store has semaphores. */
  readonly counts: boolean
  readonly promises: Promises
  /** What the store needs beside Node. */
  readonly needs: readonly Need[]
  /** What Debian's newest server does not do, where older ones break a promise. */
  readonly mended?: MendedServer
  /** Starts the service. */
  readonly start: (options: TargetOptions) => Promise<Target>
  /**
   * Opens the store as a program would.
   * @param index of the process: client libraries take turns
   */
  readonly open: (connection: Connection, index: number, load: LoadModule) => Promise<OpenStore>
  /**
   * The URL by which the command line reaches the store. Absent where there is none, or one that
   * cannot lead through a proxy for each client.
   */
  readonly url?: (connection: Connection) => string
}

export interface MendedServer {
  readonly server: NewestServer
  /** The faults under which older servers break a promise. */
  readonly faults: readonly FaultKind[]
  /** What older servers do. */
  readonly because: string
}

export interface TargetOptions {
  /** The faults that it is to meet: some need a service that is started for them. */
  readonly kinds: readonly AnyFaultKind[]
  /** Whether Debian's newest server runs, where that makes a difference. */
  readonly newest: boolean
}

/** What most stores have in common. */
export const USUAL = {
  ttlMs: 1500,
  clients: 4,
  servers: 1,
  boundMs: 7000,
  fenced: true,
  inspects: true,
  exports: true,
  findsDeadlocks: true,
  counts: true,
  needs: [],
} as const
